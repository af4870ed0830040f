"""Which language a text is in, by its script and its small words; and a text as phrases are looked up in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache

from dream.text.days import codes, spaced
from dream.text.words import table

SURELY = 2  # small words more than those of the talk's language that a text in another one has
_KANA = re.compile("[぀-ヿ]")
_HAN = re.compile("[㐀-鿿]")
_LATIN = re.compile("[a-zà-ɏ]", re.IGNORECASE)
# Characters that Chinese is written with in Taiwan and Hong Kong, and those of the table.
_SIMPLER = str.maketrans(
    "們個這來時說過還沒會對開關後從無為麼樣點現實邊國學間問題東車長門見電話號錢買賣讀寫聽講認識記憶請謝讓給變換應該須總結論規則範統禁許准絕別習慣歡愛恨討厭過敏藥醫師護婦兒媽爸姐妹哥孫爺奶鄰親戚戀結婚離職業務經理員工組織責負擔當專案項目標計劃計畫劃預約訂單報價發布佈署測試環境錯誤測驗證書碼帳戶戶頭據庫資訊網頁連線機器設備軟體體積數據參數檔文件夾錄製圖片視頻頻率級別類型號碼順序單雙兩幾億萬塊錶鐘週歲誕節禮物飯麵雞魚蝦豬貓狗鳥樹葉藍綠紅黃黑白銀銅鐵鋼鋁塑膠紙筆書課題練習選擇決定斷續繼終於剛纔才忘掉玩笑騙",
    "们个这来时说过还没会对开关后从无为么样点现实边国学间问题东车长门见电话号钱买卖读写听讲认识记忆请谢让给变换应该须总结论规则范统禁许准绝别习惯欢爱恨讨厌过敏药医师护妇儿妈爸姐妹哥孙爷奶邻亲戚恋结婚离职业务经理员工组织责负担当专案项目标计划计划划预约订单报价发布布署测试环境错误测验证书码帐户户头据库资讯网页连线机器设备软体体积数据参数档文件夹录制图片视频频率级别类型号码顺序单双两几亿万块表钟周岁诞节礼物饭面鸡鱼虾猪猫狗鸟树叶蓝绿红黄黑白银铜铁钢铝塑胶纸笔书课题练习选择决定断续继终于刚才才忘掉玩笑骗",
)
_SIGNS = re.compile(r"[^\w*]+|_")

# Letters that none of the languages with a table writes: Polish, Czech, Romanian, Turkish, Hungarian, Baltic ones.
_OTHER = re.compile("[ąćęłńśźżřůěčďťňőűğşțăđģķļņ]", re.IGNORECASE)
_SHARE = 30  # letters of a text for each of them, at the most, for it to be none of ours: a name may have one


def plain(text: str) -> str:
    """Return `text` as phrases are looked up in it: lower case, without accents and signs, a blank at each end."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = text.translate(_SIMPLER) if _HAN.search(text) and not _KANA.search(text) else text
        if _LATIN.search(text) and not _KANA.search(text):
            text = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return f" {_SIGNS.sub(' ', text.lower()).strip()} "


@cache
def function(code: str) -> frozenset[str]:
    """Return the small words of a language, made `plain`; those of English where it has no table."""
    return frozenset(plain(table()["function"][code if code in codes() else "en"]).split())


def is_small(word: str) -> bool:
    """Return whether a word is a small word of any language."""
    return plain(word).strip() in _all_small()


@cache
def _all_small() -> frozenset[str]:
    return frozenset().union(*map(function, spaced()))


@lru_cache(maxsize=8192)
def guess(text: str, else_: str = "") -> str:
    """Return the code of the language that `text` is in; "" where it is none that has a table, or can't be told.

    `else_` is that of the talk, which a short text is taken to be in unless its words say otherwise.
    """
    if _KANA.search(text):
        return "ja"
    letters = len(_LATIN.findall(text))
    han = len(_HAN.findall(text))
    if han and 4 * han >= letters:
        return "zh"
    if not letters:
        return ""
    if _SHARE * len(_OTHER.findall(text)) > letters:
        return ""
    found = plain(text).split()
    counted = {code: sum(word in function(code) for word in found) for code in spaced()}
    best = max(counted, key=lambda code: counted[code])
    others = sorted(counted.values())[-2]
    if else_ in counted and counted[best] <= counted[else_] + SURELY:
        return else_ if counted[else_] or counted[best] < SURELY else best
    return best if counted[best] > others or (counted[best] and counted[best] == counted["en"]) else ""


def main(texts: Iterable[str], other: str = "") -> str:
    """Return the language that most of `texts` are in, by their length; `other` where none can be told."""
    counted: dict[str, int] = {}
    for text in texts:
        if code := guess(text[:2_000]):
            counted[code] = counted.get(code, 0) + len(text) * (1 if code in spaced() else 3)
    return max(counted, key=lambda code: counted[code]) if counted else other


def is_wide(text: str) -> bool:
    """Return whether a good part of `text` is Chinese or Japanese."""
    wide = sum(1 for character in text if "\u3040" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff")
    return 4 * wide >= len(text)
