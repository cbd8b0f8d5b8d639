"""The shipped rules as data, in evaluation order.

Every pattern matches at word boundaries: "nan" does not match tenant, nor "fix" prefix, nor "vs"
canvas. Identifiers come before question words: "What is VectorStore" asks
for a name, "What is Python" for an explanation.
"""

from __future__ import annotations

from search.domain import ClassifierRule, QueryClass

# Office nouns that share verbs with programming: "how do I create a ticket".
_OFFICE = (
    r"(?:leave|vacation|holidays?|expenses?|tickets?|badges?|rooms?|accounts?|printers?|vpn|car|"
    r"reimbursement|overtime|invoices?|phones?|laptops?|appointments?|meetings?|mailbox|calendar|"
    r"parking|policy|reports?|office|complaints?|permits?)"
)
_PLEASE = r"^(?:(?:can|could|would|will) you )?(?:please )?"
_HOW_TO = r"\bhow (?:to|do i|do you|do we|can i|can you|can we|would i|should i) (?:\w+ly )?"
_NOT = (
    r"(?:not|never|cannot|can'?t|won'?t|doesn'?t|don'?t|isn'?t|aren'?t|didn'?t|wasn'?t|no longer)"
)

RULES: tuple[ClassifierRule, ...] = (
    ClassifierRule(
        "a single identifier",
        QueryClass.LOOKUP,
        predicate="is_identifier",
        confidence=0.95,
        examples=("D40", "VectorStore", "PII-2024-0042"),
        counter_examples=("What is D40?", "water pumps"),
    ),
    ClassifierRule(
        "compares two things",
        QueryClass.COMPARISON,
        r"\b(?:vs\b\.?|versus\b|differences?\b|differ(?:s|ed)?\b|different from\b|"
        r"distinguish(?:es|ed)?\b|compar(?:e[sd]?|ing|isons?|able)\b|similarit(?:y|ies)\b|"
        r"pros (?:and|&) cons\b|trade-?offs?\b|(?:dis)?advantages? of .+ (?:over|against)\b|"
        r"as opposed to\b|(?:in )?contrast(?:ed)? (?:to|with)\b|alternatives? (?:to|for)\b)|"
        r"\bchoos(?:e|ing) between\b|\bdecid(?:e|ing) between\b",
        confidence=0.9,
        examples=("celery vs rq", "difference between EKF and UKF", "alternatives to Redis"),
        counter_examples=("canvas size", "tenant isolation"),
    ),
    ClassifierRule(
        "weighs one against another",
        QueryClass.COMPARISON,
        r"\b(?:better|worse|faster|slower|cheaper|safer|easier|more \w+|less \w+) than\b|"
        r"\b(?:which|what) (?:\w+ ){0,3}(?:is|are|one) (?:the )?"
        r"(?:better|best|faster|fastest|cheaper|cheapest|safer|safest)\b|"
        r"\bshould (?:i|we|you) .+ or (?!not\b)|^[^ ]+ or [^ ]+(?: for .+)?\??$|"
        r"\bor\b.+\b(?:which|what) (?:\w+ ){0,2}(?:do|should|is)\b",
        confidence=0.85,
        examples=(
            "Which is better: URDF or SDF?",
            "should I use a list or a tuple",
            "PUT or PATCH",
        ),
        counter_examples=("should I report an error or not", "trip or slip hazards on site"),
    ),
    ClassifierRule(
        "asks how something works",
        QueryClass.CONCEPT,
        rf"{_PLEASE}(?:explain |describe |tell me )?how (?:does|do|is|are|did) (?!i\b|you\b|we\b)"
        rf"(?!.*\b{_NOT}\b).*\b(?:work|works|operate|operates|function|functions|behave|behaves|"
        r"handle|handles|organi[sz]ed|structured|defined|happen|happens)\W*$",
        confidence=0.9,
        examples=("How does hybrid search work", "How does error handling work"),
        counter_examples=("how do I make it work", "how does it come that it does not work"),
    ),
    ClassifierRule(
        "speaks of a failure",
        QueryClass.DEBUG,
        r"\b(?:errors?|exceptions?|traceback|stack ?trace|\w+(?-i:Error|Exception)|"
        r"fail(?:s|ed|ing|ures?)?|crash(?:es|ed|ing)?|bugs?|buggy|broken|corrupt(?:ed)?|"
        r"debug(?:ging)?|troubleshoot(?:ing)?|diagnos(?:e|ing)|fix(?:es|ing)?|repair(?:ing)?|"
        r"problems?|trouble|issues? with|malfunction(?:s|ing)?|deadlocks?|segfaults?|"
        r"segmentation fault|core dump(?:ed)?|memory leaks?|time[ds]? ?out|timeouts?)\b"
        r"(?! (?:handling|hierarchy|budgets?|reporting form|training|policy|plan)\b)",
        confidence=0.85,
        examples=("error in parser", "How to fix node not found error?", "debugging a deadlock"),
        counter_examples=("prefix tree", "error handling guidelines", "tenant isolation"),
    ),
    ClassifierRule(
        "says that something does not work",
        QueryClass.DEBUG,
        rf"\b{_NOT} (?:\w+ ){{0,2}}(?:work(?:s|ing)?|start(?:s|ing)?|connect(?:s|ing)?|"
        r"load(?:s|ing|ed)?|move|print(?:s|ing)?|open(?:s|ing)?|launch(?:es|ing)?|found|install|"
        r"log|login|sign|boot|respond(?:s|ing)?|run(?:s|ning)?|appl(?:y|ied)|charg(?:e|ing)|"
        r"deliver(?:ed|ing)?|send(?:ing)?|sent|sync(?:ing)?|save[ds]?|saving|show(?:s|ing|n)?|"
        r"display(?:ed|ing)?|build(?:ing)?|compil(?:e|ing)|reach(?:able)?|access|turn|resolve[ds]?|"
        r"recogni[sz]ed?|detect(?:ed)?|available|updat(?:e|ed|ing)|used|called|executed)\b",
        confidence=0.85,
        examples=("my pump is not working", "Can't connect to Gazebo", "My robot won't move"),
        counter_examples=("what not to wear underground", "do not disturb"),
    ),
    ClassifierRule(
        "describes a symptom",
        QueryClass.DEBUG,
        r"\b(?:unable to|(?:cannot|can'?t|could not) get|denied|refused|"
        r"unreachable|missing after|stuck|frozen|freez(?:es|ing)|"
        r"hang(?:s|ing)|slow(?:s|ed)? (?:down|after|since|queries)|keeps? \w+ing|"
        r"(?:blank|blue) (?:screen|page)|no (?:signal|connection|sound|network|such)|"
        r"disconnect(?:s|ed|ing)|unexpectedly|suddenly|"
        r"(?:stops?|stopped) (?:work|respond|print|unexpected)\w*|drops (?:out|every)|"
        r"overheat(?:s|ing)?|leak(?:s|ing)|disk (?:is )?full|out of memory|overflow|undefined|"
        r"panic(?:s|ked)?)\b",
        confidence=0.8,
        examples=("vpn keeps disconnecting", "permission denied on upload"),
        counter_examples=("leakage limits", "full-time contract"),
    ),
    ClassifierRule(
        "tells what happened when",
        QueryClass.DEBUG,
        r"\b(?:(?:returns?|gives?|shows?|throws?|status|http) (?:an? )?[45]\d\d|"
        r"when (?:running|starting|opening|saving|loading|trying|executing|building|writing|"
        r"connecting|installing|uploading|printing))\b",
        confidence=0.75,
        examples=("server returns 502", "ORA-00942 when running the report"),
        counter_examples=("when does the fiscal year end", "form 502"),
    ),
    ClassifierRule(
        "asks for code",
        QueryClass.CODE,
        r"\b(?:(?:source|sample|example) code|code (?:for \w+ing|to \w+|that|samples?|snippets?)|"
        r"snippets?|(?:code|coding) examples?|(?:an )?examples? (?:of|for) (?:an? )?\w+ "
        r"(?:task|view|query|class|function|method|script|test|migration|config|file|call|model)|"
        r"syntax|boilerplate|usage of|one-?liner|regex|regular expression|"
        r"(?:dockerfile|makefile|script|config|configuration|command|query) (?:for|to|that|which)|"
        r"curl|pseudo-?code)\b|"
        r"^(?:show me|give me|sample|example)\b.*\b(?:code|examples?|snippet)\b",
        confidence=0.85,
        examples=(
            "code for parsing csv files",
            "Sample code for action server",
            "syntax of a loop",
        ),
        counter_examples=("building code requirements", "dress code", "zip code of the office"),
    ),
    ClassifierRule(
        "tells to program",
        QueryClass.CODE,
        rf"{_PLEASE}(?:implement(?:ing)?|write|writing|refactor|parse|parsing|serialize|"
        r"generate|iterate|loop|import|instantiate|override|mock(?:ing)?|declare|compile|"
        r"configure|configuring|deploy|query|add an?|create an?|convert an?) "
        rf"(?!(?:\w+ ){{0,2}}{_OFFICE}\b)\w+",
        confidence=0.8,
        examples=("implement retry logic", "Write a launch file", "parse a JSON string in Go"),
        counter_examples=("subclass registry", "query", "create a ticket for the help desk"),
    ),
    ClassifierRule(
        "asks how to program",
        QueryClass.CODE,
        rf"{_HOW_TO}(?:write|call|define|implement|configure|import|override|mock|parse|compile|"
        r"declare|instantiate|iterate|serialize|deploy|query|debug|test|sort|filter|loop|"
        r"initiali[sz]e|subclass|extend|convert|generate|catch|throw|return)\b",
        confidence=0.8,
        examples=("how do I define a foreign key", "how to write a custom migration"),
        counter_examples=("how do I reset my password",),
    ),
    ClassifierRule(
        "asks how to do it with a computer",
        QueryClass.CODE,
        rf"{_HOW_TO}(?:install|connect|set (?:an?|the|up)|run|create|build|add|use|pass|read|load|"
        r"handle|access|print)\b"
        rf"(?! (?:\w+ ){{0,2}}{_OFFICE}\b)",
        confidence=0.7,
        examples=("How to create a node?", "how do I connect to postgres"),
        counter_examples=("how do I create a ticket", "how to use the parental leave"),
    ),
    ClassifierRule(
        "asks why or in what way",
        QueryClass.CONCEPT,
        rf"^(?:so )?(?:why|how come)\b|^how (?:does|did|is|are|was|were) |"
        rf"^how do (?!i\b|you\b|we\b)|{_PLEASE}(?:explain|describe|tell me) (?:why|how|what)\b",
        confidence=0.8,
        examples=("why do caches expire entries", "how is overtime calculated"),
        counter_examples=("how do I reset my password", "how many sick days do I get"),
    ),
    ClassifierRule(
        "asks yes or no",
        QueryClass.GENERAL,
        r"^(?:can|may|could|do|does|did|is|are|were|will|would|has|have|must|am) "
        r"(?!you (?:please )?(?:explain|tell|show|give|describe|define)\b)",
        confidence=0.7,
        examples=("Does IBM Cloud offer CocoaPods?", "can I carry over vacation days"),
        counter_examples=("could you please explain SLAM", "what is SLAM"),
    ),
    ClassifierRule(
        "names an identifier",
        QueryClass.LOOKUP,
        predicate="names_identifier",
        confidence=0.85,
        examples=("What is VectorStore", "Explain regulation 75.1725", "Tell me about Room D40"),
        counter_examples=("What is Python", "take 5", "who invaded Africa during WW2"),
    ),
    ClassifierRule(
        "asks for a definition or a place",
        QueryClass.LOOKUP,
        # "Who is", "where is" and "stands for" in a sentence ask for a fact: keywords rank those
        # worse on judged queries. A name of one word, or capitals, is a thing to look up.
        rf"{_PLEASE}(?:define|definition of|meaning of|abbreviation|acronym|find|look ?up|"
        r"locate|open|(?:show|show me) (?:ticket|invoice|form|document|page|section|article))\b|"
        r"^(?:where (?:is|are|can i find|do i find)|where's) (?:the |my |our )?\S+\W*$|"
        r"^what (?:do|does) (?-i:[A-Z][A-Z0-9&-]+) (?:mean|stand for)\W*$|"
        r"\b(?:phone number|e-?mail address|address|opening hours|default value|version number|"
        r"extension number|contact details?) (?:of|for)\b",
        confidence=0.8,
        examples=("Define SLAM", "where is the config", "what does MTTR stand for"),
        counter_examples=(
            "what is localization",
            "finding hazards",
            "where is the film set",
            "what does scale stand for",
            "who is the founder",
        ),
    ),
    ClassifierRule(
        "asks what it is",
        QueryClass.CONCEPT,
        r"^(?:and )?what(?:'s| is| are| was| were| does| do| happens| makes| causes)\b|"
        r"\b(?:explain|describe|overview of|tell me (?:more )?about|introduction to|intro to|"
        r"concepts? of|idea (?:behind|of)|principles? of|basics of|fundamentals of|theory of|"
        r"purpose of|background (?:on|of)|meant by|rationale (?:for|behind)|teach me)\b",
        confidence=0.8,
        examples=("what is localization", "Tell me about fire hazards", "What is Python"),
        counter_examples=("which documents do I need", "whatever"),
    ),
    ClassifierRule(
        "vergleicht (German)",
        QueryClass.COMPARISON,
        r"\b(?:unterschiede?|unterscheide[nt]|vergleich(?:e|en|t)?|verglichen|gegenüber|"
        r"vor- und nachteile|alternativen? zu)\b|\b(?:besser|schneller|billiger|sicherer) als\b",
        confidence=0.85,
        examples=("Unterschied zwischen EKF und UKF", "ist Redis schneller als Memcached"),
        counter_examples=("Urlaub beantragen",),
    ),
    ClassifierRule(
        "spricht von einem Fehler (German)",
        QueryClass.DEBUG,
        r"\b(?:fehler(?:meldung|code)?|störung|kaputt|defekt|abgestürzt|stürzt|absturz|"
        r"(?:funktioniert|geht|startet|lädt|druckt|läuft|reagiert|verbindet) (?:\w+ )?nicht)\b",
        confidence=0.85,
        examples=("der Drucker funktioniert nicht", "Fehlermeldung beim Start"),
        counter_examples=("fehlerfreie Anlage", "Urlaub beantragen"),
    ),
    ClassifierRule(
        "will programmieren (German)",
        QueryClass.CODE,
        r"\b(?:beispielcode|codebeispiel|quellcode|code für|skript|befehl (?:zum|für|um))\b|"
        r"\bwie (?:schreibe|implementiere|konfiguriere|installiere|programmiere|definiere|rufe) "
        r"(?:ich|man|wir)\b",
        confidence=0.8,
        examples=("wie schreibe ich eine Migration", "Codebeispiel für einen Filter"),
        counter_examples=("wie beantrage ich Urlaub",),
    ),
    ClassifierRule(
        "fragt was, wie oder warum (German)",
        QueryClass.CONCEPT,
        r"^(?:was (?:ist|sind|war|bedeutet|macht|heißt)|wie funktionier(?:t|en)|warum|"
        r"wieso|weshalb|erklär(?:e|en)?|beschreib(?:e|en)?|wozu|einführung in)\b",
        confidence=0.8,
        examples=("was ist Lokalisierung", "warum verfallen Zwischenspeicher"),
        counter_examples=("wie beantrage ich Urlaub", "was kostet das Parken"),
    ),
    ClassifierRule(
        "a name alone",
        QueryClass.LOOKUP,
        predicate="is_name",
        confidence=0.75,
        examples=("Aboleth", "SLAM"),
        counter_examples=("pumps", "Water pumps"),
    ),
)
