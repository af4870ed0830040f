"""General English and Chinese word lists: what carries no meaning, and what carries little."""

from __future__ import annotations


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Function words: never content.
STOP = _set("""
a an the and or but nor so if then than that this these those there here it its it's he she they them him her his hers
their theirs we us our ours you your yours i me my mine myself yourself himself herself itself themselves ourselves
i'm i've i'd i'll you're you've you'd you'll he's she's they're they've we're we've we'll we'd that's there's what's
let's who's who whom whose which what when where why how is am are was were be been being do does did doing done don't
doesn't didn't isn't aren't wasn't weren't won't can't couldn't wouldn't shouldn't haven't hasn't hadn't have has had
having can could will would shall should may might must of to in on at by for from with about into onto over under
between among through during before after above below up down out off as because while until since though although
not no nor only just also too very really quite even still yet again ever never always already all any some each every
both few more most much many other another such own same s t re ve ll d m etc via per
oh wow yeah yes yep hey hi hello okay ok well um hmm haha lol gonna wanna gotta kinda
""")

# What somebody is, and is not called: "I'm German".
BELONGING = _set("""
afghan albanian algerian american arab argentinian armenian asian australian austrian bangladeshi belgian bolivian bosnian
brazilian british bulgarian cambodian canadian chilean chinese colombian croatian cuban cypriot czech danish dutch
egyptian english eritrean estonian ethiopian european filipino finnish french georgian german ghanaian greek hungarian
icelandic indian indonesian iranian iraqi irish israeli italian jamaican japanese jordanian kazakh kenyan korean kurdish
latvian lebanese lithuanian malaysian maltese mexican moldovan mongolian moroccan nepalese nigerian norwegian pakistani
palestinian peruvian polish portuguese romanian russian rwandan saudi scottish senegalese serbian singaporean slovak
slovene slovenian somali spanish sudanese swedish swiss syrian taiwanese thai tunisian turkish ugandan ukrainian
uruguayan venezuelan vietnamese welsh
agnostic atheist baptist buddhist catholic hindu jewish lutheran methodist mormon muslim orthodox protestant quaker sikh
adhd autistic dyslexic
""")

# Words so frequent in speech that they tell little about anybody.
COMMON = _set("""
about actually add afternoon again ago almost alone along amazing around ask asked awesome away back bad beautiful
become began believe best better big bit bring bunch call came care cause chance change check come coming cool couple
course crazy day days deal definitely different difficult each easy else end enjoy enjoyed enough entire especially
evening everyone everything exactly excited exciting experience experiences face fact fantastic far feel feeling feels
felt find fine finally first found full fun gave get gets getting give given gives giving glad go goes going gone good
got great guess guys happen happened happy hard hear heard help helped helping helps high hold hope hoping huge idea
important incredible inspiring interesting keep keeping kept kind knew know known last lately later least leave left
less let life like liked little live long look looked looking looks lot lots love loved lovely low lucky made main make
makes making matter maybe mean means meant mind moment moments morning move need needed needs new next nice night nothing
now often old once one ones part past people perfect person pick place places plan planning point positive pretty
probably proud put quick ready real realize recently remember rest right said saw say saying see seeing seem seems seen
sense set share shared sharing show showed side simple small someone something sometimes soon special spend spent start
started starting stay step stuff super support supportive sure take taken takes taking talk talked talking tell thank
thankful thanks thing things think thinking thought time times today together told took totally tough trip tried true
try trying turn turned understand use used using usually want wanted wants way ways week weekend weeks went whole
wonderful wondering work worked working world worth wow year years yesterday young blast awesome grateful appreciate
amazed hang happening journey absolutely truly highly certainly simply currently fully various several
""")

# Words of judgement, feeling and encouragement: content, but seldom what anybody asks for later.
FEELING = _set("""
accept acceptance accepted achieve achieved achievement admire adorable alive amaze amusing anxious appreciated
appreciation attitude authentic aware balance beauty belief belong bless blessed blown bond bonding boost brave bravery
breathtaking bright brighten bring bummed bummer busy calm calming care caring celebrate celebrating challenge challenges
challenging charming cheer cherish chill clear comfort comfortable comforting committed compassion concern confidence
confident connect connected connecting connection courage create creating creativity curious cute dedicated dedication
definite delicious delight depend deserve despite determination determined difference disappointed doubt driven eager
effort embrace emotion emotional emotions empathy empower empowering encourage encouraged encouragement encouraging
energetic energy enhance enthusiasm epic escape express expressing fab fabulous faith fascinating fear fill focus focused
fresh frustrated frustrating fulfilling gain genuine glow gorgeous gratitude grow growing growth happiness heartwarming
helpful honest honor hopeful hopes hype hyped impact impactful impress impressed impressive improve improving incredibly
influence insane inspiration inspire inspired inspires interest issue issues joy joyful keen kindness level lift lively
luck magical manage massive meaning meaningful memorable mental mindset miss mood motivate motivated motivates motivating
motivation nervous noticed obsessed opportunities opportunity optimistic overcome overwhelmed overwhelming pain passion
passionate path peace peaceful perspective pleasure positivity possibilities possible powerful precious pressure progress
proof pumped purpose push pushing reach relate relationship relax relaxed relaxing relief remind reminded reminder reminds
resilience resilient respect reward rewarding rough sad satisfying scary seek serious shine significant smile smiles spark
spirit stoked strength stress stressed stressful strive strong struggle struggles stunning success successful surprised
surrounded tackle talented terrific thoughtful thrill thrilled thrilling top trust truth ultimate uncertain understanding
unexpected unforgettable unique unreal upset uplifting valuable value values vibe vibes vibrant vision vital warm warmth
weird welcome welcoming willing wisdom wish wonder wonders worried worry yay
""")

MONTHS = "January February March April May June July August September October November December".split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple": 2,
}  # fmt: skip

# Chinese characters that are grammar more than meaning; the hard ones in every pair that they stand in.
HARD_ZH = frozenset("的了是在我你他她它们这那就也很和与或但而且又还不没有把被给对从到于着过吧吗呢啊呀哦嗯之其")
STOP_ZH = HARD_ZH | frozenset("都个些里上下中会能可要想说")

# Irregular or past forms that stay as they are after a third-person subject.
PAST = _set("""
was were had did went saw got came took made gave found told said knew thought felt left kept met ran won lost bought
brought taught caught built sent spent slept sat stood wrote read rode drove flew grew drew threw wore tore spoke broke
chose froze woke sang swam began drank rang sank sprang shrank ate fell held hit hurt cut put set let shut quit cost
beat bet led fed bled sped hid bit slid dug stuck hung stung swung fought sought heard paid laid dealt dreamt leapt
meant learnt burnt sold lent bent hid shone sunk shot struck stole wept swept crept knelt clung begun became forgot forgave overcame understood undertook withdrew rebuilt
""")  # fmt: skip
UNINFLECTED = PAST | _set("""
can could will would shall should may might
must used never always just also already really finally recently actually still only even usually often sometimes once currently
definitely totally truly absolutely probably not soon then now first
""")
THIRD = {"am": "is", "'m": "is", "have": "has", "'ve": "has", "do": "does", "go": "goes", "'ll": "will", "'d": "would",
         "wanna": "wants to", "gotta": "has to", "don't": "doesn't", "haven't": "hasn't", "was": "was", "were": "was", "'re": "is"}  # fmt: skip
AGENTS = frozenset("assistant agent ai bot claude gpt chatgpt gemini copilot codex model system cursor dream".split())
