"""German, Spanish and French: the core of each family, under the English families' names; forms as they
stand.

Without accents, as texts are folded. Far smaller than the English tables: what no table knows stays neutral.
"""

TONGUES: dict[str, str] = {
    "kill": """toten tote umbringen umbringe matar asesinar mato tuer assassiner ermorden erschiessen
        erwurgen erstechen estrangular apunalar etrangler poignarder abattre""",
    "poison": "vergiften vergifte envenenar enveneno empoisonner empoisonne",
    "hurt": "verletzen verprugeln lastimar golpear blesser frapper tabasser",
    "make": """bauen baue herstellen basteln herstelle construir fabricar hacer hago fabriquer construire
        fabrique synthetisieren sintetizar""",
    "buy": "kaufen kaufe besorgen comprar compro conseguir acheter achete obtenir",
    "sell": "verkaufen schmuggeln vender contrabandear vendre",
    "steal": "stehlen klauen einbrechen ausrauben robar hurtar voler cambrioler derober",
    "hack": "hacken hackear hackeo jaquear pirater",
    "forge": "falschen falsche falsificar falsifier contrefaire",
    "bomb": """bombe bomben bomba bombas bombes sprengstoff explosivo explosivos explosif explosifs
        rohrbombe""",
    "weapon": "waffe waffen pistole arma armas pistola pistolet fusil",
    "toxin": "veneno nervengas",
    "drug": "drogen droge droga drogas drogue drogues kokain cocaina heroina metanfetamina",
    "hard_drug": "kokain cocaina heroina metanfetamina crystal_meth methamphetamin methamphetamine",
    "malware": "schadsoftware virus_informatico logiciel_malveillant ransomware",
    "document": "reisepass ausweis pasaporte passeport falschgeld dinero billetes",
    "system": "konto compte cuenta cuenta_de",
    "person": """jemanden jemand menschen mann frau nachbarn nachbar chef freundin alguien persona personas
        esposa marido vecino vecina jefe novia quelqu'un personne gens femme mari voisin voisine patron
        copine leute""",
    "relation": """meine_frau meinen_mann meinen_nachbarn meinen_chef meine_freundin mi_esposa mi_marido
        mi_vecino mi_jefe mi_novia ma_femme mon_mari mon_voisin mon_patron ma_copine""",
    "premises": """bank_ausrauben haus laden gebaude schule banco tienda escuela edificio ecole magasin
        banque maison""",
    "selfharm": """mich_umbringen umbringen_mich suicidarme matarme me_suicider me_tuer selbstmord_begehen
        suizid quitarme_la_vida mich_toten""",
    "how": """wie_kann_ich wie wie_man wie_kann_man como_puedo como_hacer como comment_puis_je comment
        comment_faire ich_will ich_mochte quiero je_veux wo_kann_ich donde_puedo ou_puis_je""",
    "safe": """prozess prozesse proceso procesos processus licht luces lumiere unkraut globo ballon zeit
        tiempo temps pelicula foto fotos""",
    "covert": "unbemerkt ohne_erwischt_zu_werden sin_que_me_atrapen sans_se_faire_prendre spurlos",
}  # fmt: skip
"""Family → words."""
