"""Words that every reader of what people wrote knows: the months, and labels that stand where a name may."""

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = (  # a pattern; the first three letters of what it finds are in MONTHS
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
# What stands before a colon and does not speak: parts of mail and of documents, levels of logs. In lower case.
LABELS = frozenset(
    """
    a answer author bug cc context date debug description error example fix fixed fixme from goal hint http https id
    idea info input instructions issue key message name note notes notice output plan please problem q question quote
    re reminder reply request result role solution status step subject summary system tags task text time tip title to
    todo topic trace type update url usage user value version warn warning
    问题 回答 注意 总结 任务 答案 背景 要求 说明 例如
    """.split()  # noqa: SIM905 - a list of words is read better than a list of strings
)
