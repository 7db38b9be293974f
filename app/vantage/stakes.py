"""How much hangs on a right answer: medical, legal and money matters, by their words.

Weights: a word of `strong` alone makes the matter high, of `weak` some. Phrases with `_`. Source: the topics
on which the professions' bodies ask for a professional's advice.
"""

STAKES_WORDS: dict[str, tuple[str, str]] = {
    "medical": (
        """diagnosis diagnose symptom dosage dose overdose prescription medication chemotherapy insulin
            surgery cancer tumor stroke heart_attack seizure chest_pain pregnant pregnancy miscarriage
            antidepressant antibiotic allergic_reaction anaphylaxis blood_pressure diabetes suicidal
            infection poisoning side_effect warfarin ibuprofen paracetamol acetaminophen aspirin bleeding
            concussion epilepsy asthma vaccine overdosed biopsy hiv depression antipsychotic lithium xanax
            opioid shortness_of_breath lump chemo dialysis transplant""",
        """doctor pain fever rash medicine pill tablet drug illness disease therapy hospital treatment
            patient nausea headache vomiting dizzy injury wound swelling sick clinic nurse cure anxiety
            insomnia migraine cholesterol supplement vitamin breathing""",
    ),
    "legal": (
        """lawsuit sue sued attorney lawyer custody divorce arrested arrest felony misdemeanor subpoena
            eviction deportation immigration_status visa_overstay probation parole plead guilty indictment
            restraining_order bankruptcy liability litigation court_date alimony inheritance_dispute
            power_of_attorney warrant plea_deal settlement_offer statute_of_limitations wrongful_termination
            asylum green_card bail child_support defamation_suit copyright_infringement hearing testify
            contract_breach breach_of_contract""",
        """law legal illegal contract court judge police rights tenant landlord lease copyright trademark
            patent license licence permit will evicted fine ticket criminal crime regulation compliance gdpr
            visa citizenship custody_of employer terminated fired clause agreement liable""",
    ),
    "money": (
        """mortgage invest investing investment retirement pension life_savings savings 401k ira stocks
            bankruptcy foreclosure payday_loan tax_return day_trading leverage options_trading margin_call
            crypto bitcoin annuity student_loan debt refinance inheritance home_equity hedge_fund portfolio
            capital_gains futures_trading short_selling life_insurance second_mortgage""",
        """loan tax taxes stock bond fund bank credit interest insurance salary budget money income dividend
            broker trading shares credit_card afford rent cost lend borrow fee refund interest_rate""",
    ),
}  # fmt: skip
"""Stake → (strong words, weak words)."""
