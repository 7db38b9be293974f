"""Whom the deed is done to: persons near and far, children, groups the law protects, public figures,
oneself.

Nouns in the singular, `_` joins words. A group is protected by the lists of article 21 of the EU Charter and
of title VII (USA): origin, belief, sex, orientation, disability, age. Groups outside them (gamers, elves)
are none.
"""

WHOM: dict[str, str] = {
    "person": """person people someone somebody anyone anybody everyone everybody human human_being
        corpse skull throat jugular neck rival_gang man woman guy girl boy individual others him her them
        kid stranger civilian pedestrian crowd victim enemy rival opponent bystander citizen voter
        customer tourist passenger driver celebrity witness hostage prisoner inmate police_officer cop
        policeman police_officers officer soldier judge politician president prime_minister senator
        congressman congresswoman mayor governor king queen pope minister journalist activist protester
        doctor nurse teacher professor student classmate schoolmate coworker co_worker colleague boss
        manager employee landlord tenant neighbor neighbour roommate flatmate friend girlfriend boyfriend
        wife husband spouse partner fiance fiancee ex ex_wife ex_husband ex_girlfriend ex_boyfriend
        mother father mom mum dad parent sister brother sibling son daughter grandmother grandma
        grandfather grandpa aunt uncle cousin stepmother stepfather mother_in_law father_in_law in_law
        baby infant toddler child children elderly guests client patient supervisor ceo guard
        security_guard bouncer homeless hooker prostitute bully drunk_girl teammate lady gentleman dude
        mailman babysitter juror ex_partner landlady refugee informant donald_trump joe_biden putin obama
        elon_musk worker shopper family lover date crush mistress guys senior millionaire heiress
        influencer streamer humans humanity mankind population masses commuter spectator owner farmer
        lawyer attorney dentist chef waiter waitress barista cashier clerk pilot sailor captain nun
        priest rabbi imam pastor monk reporter editor writer artist actor actress singer musician athlete
        coach referee scientist researcher engineer plumber electrician carpenter janitor cleaner nanny
        maid secretary accountant banker trader merchant shopkeeper bartender librarian firefighter
        paramedic sheriff detective agent spy lieutenant general sergeant veteran commander king's_guard
        prosecutor bailiff inspector councilman chairman director chief leader lord hunter fisherman
        camper hiker cyclist runner swimmer dancer model freshman sophomore pupil intern trainee
        volunteer member follower supporter candidate opponent's youth adult newborn orphan someone_else
        someone_else's somebody_else somebody_else's someone's somebody's another_person other_people
        other_people's couple widow bride niece nephew grandson granddaughter grandchild stepparent
        therapist surgeon psychiatrist barber mechanic ex_boss stepsister neighbors neighbours roofer
        mentee mentor match tutor housekeeper gardener groom bridesmaid twin stepbrother foster_child
        caretaker resident villager pedestrians bus_driver taxi_driver uber_driver trucker diplomat
        ambassador dictator monarch royal_family billionaire pensioner grandparent seniors investor buyer
        competitor accomplice snitch pet_owner dealer hitchhiker jogger whistleblower protesters
        concertgoers bodyguard stepdad stepmom stepchild gran granny grandad mommy daddy mummy auntie
        godfather godmother hubby bloke lass lad buddy bro acquaintance passerby passer_by onlooker
        shop_owner storekeeper homeowner delivery_driver courier postman vagrant beggar drifter runaway""",
    "relation": """my_wife my_husband my_boss my_neighbor my_neighbour my_ex my_girlfriend my_boyfriend
        my_mother my_father my_mom my_dad my_sister my_brother my_son my_daughter my_roommate my_coworker
        my_co_worker my_colleague my_teacher my_classmate my_friend my_partner my_spouse my_landlord
        my_child my_kid my_baby my_cousin my_uncle my_aunt my_grandmother my_grandfather my_parents
        my_family my_enemy my_manager my_boyfriend's my_professor my_stepfather my_stepmother my_stepson
        my_stepdaughter my_tenant my_employee my_client my_crush my_in_laws my_mother_in_law
        my_father_in_law my_bully my_date my_fiance my_kids my_children my_employees my_grandma
        my_grandpa my_employer my_student my_students my_patient my_coach my_doctor my_best_friend
        my_ex_wife my_ex_husband my_ex_girlfriend my_ex_boyfriend my_mum my_flatmate my_therapist
        your_wife your_husband your_boss your_neighbor your_ex your_girlfriend your_boyfriend
        your_coworker your_neighbour your_friend your_colleague your_classmate your_partner his_wife
        her_husband their_partner a_coworker a_colleague a_classmate a_neighbor an_ex a_stranger
        my_stepdad my_stepmom my_granny my_grandad my_gran my_nan my_daddy my_mommy my_hubby my_buddy
        my_acquaintance my_godfather my_stepbrother my_stepsister my_niece my_nephew my_brother_in_law
        my_sister_in_law my_housemate my_supervisor my_business_partner my_tutor my_twin
        my_family_members my_maid my_nanny my_babysitter my_customers my_customer""",
    "minor": """child children minor kid toddler infant baby teenager teen underage_girl underage_boy
        little_girl little_boy schoolgirl schoolboy young_girl young_boy pupil preteen youngster niece
        nephew grandchild 13_year_old 12_year_old 14_year_old 15_year_old 10_year_old 11_year_old
        16_year_old 9_year_old 8_year_old 7_year_old stepdaughter stepson underage adolescent orphan
        kindergartener juvenile daughter son boy girl students six_year_old seven_year_old eight_year_old
        nine_year_old ten_year_old eleven_year_old twelve_year_old thirteen_year_old fourteen_year_old
        fifteen_year_old 6_year_old""",
    "animal": """dog cat puppy kitten pet horse cow pig rabbit bird squirrel deer bear elephant rhino
        wolf duck swan pigeon raccoon fox goat sheep hamster parrot animal neighbor's_dog neighbor's_cat
        lion tiger endangered_species bald_eagle dolphin whale turtle monkey stray donkey bunny foal pony
        gerbil guinea_pig ferret sparrow hedgehog kitten_litter""",
    "self": "myself oneself themselves",
    "group": """black_people black_person blacks white_people white_person whites asian_american latinx
        indigenous_people roma romani gypsy jew jewish_people jewish_person islam christianity immigrant
        migrant refugee foreigner asylum_seeker illegal_alien woman women girls females female_employees
        men male_nurses gay_people gays lgbt lgbtq lgbtqia trans_people trans_woman trans_man trans_women
        transgender_people transwomen disabled_people disability disabilities handicapped_people
        autistic_people deaf_people blind_people wheelchair_user mental_illness old_people elderly_people
        older_people young_people fat_people obese_people overweight_people poor_people homeless_people
        chinese_people indians turk kurd pole polish_people ethnic_minority ethnic_minorities minorities
        people_of_color people_of_colour brown_people straight_people black_woman black_women black_man
        black_men dalit uyghur rohingya tutsi hutu puerto_rican down_syndrome pregnant_women
        single_mothers people_from people_with_mental_illness people_with_adhd gen_z baby_boomers
        rich_people middle_eastern_people bald_people redheads man_and_woman religions muslim_people
        christian_people hindu_people jewish_women arab_people black_employees black_students latinos
        hispanics jews_and_muslims turkish_people venezuelan irish_travellers africans_in ghanaian
        malaysian bangladeshi tibetan mongolian eskimo hawaiian polynesian southerners northerners
        rednecks trailer_park_people single_moms stay_at_home_moms childless_women old_women young_women
        obese_women feminist_women people_in_wheelchairs wheelchair_users amputees depressed_people
        bipolar_people schizophrenics people_who_stutter tourettes people_with_epilepsy drug_addicts
        hiv_positive_people people_with_aids working_class_people lower_class older_adults older_workers
        ethnicity certain_race certain_races skin_color sexual_orientation caste dwarf dwarfs feminists
        feminist people_with_disabilities africans americans mexicans asians arabs southeast_asians
        south_asian sex_worker sex_workers transsexual ethnic_group racial_group religious_group
        jehovah's_witnesses scientologist shia ahmadi rastafarian pagans religious_people western_people
        eastern_europeans south_americans afro_american latin_american person_of_color
        people_of_african_descent europeans boomers millennials asexual asexual_people divorced
        divorced_people single_people unmarried unmarried_people older_applicants older_employees
        foreign_names foreign_sounding hijabs headscarves turbans accents people_over female_applicants
        women_of old_employees colored_people people_on_welfare welfare_recipients unemployed_people
        ex_convicts veterans_with_ptsd short_people people_with_dementia people_with_autism
        people_with_hiv dyslexic intersex foreign_born noncitizens working_mothers deaf_person stutter
        stutterers blind_person autism old_folks old_man old_woman different_races marginalized
        marginalized_group certain_ethnicity mentally_disabled physically_disabled gay_men homosexuality
        judaism interracial_marriage interracial_couples interracial_couple gay_marriage
        same_sex_marriage gay_couple gay_couples lesbian_couples black_families black_family black_kids
        black_neighbours black_neighbors muslim_families muslim_women jewish_families jewish_men
        women_drivers female_drivers female_bosses female_engineers female_colleagues gay_applicants
        black_applicants muslim_applicants jewish_applicants older_candidates gay_teachers gay_kids
        gay_parents trans_kids trans_athletes immigrant_children immigrant_families romanians ukrainians
        russians chinese_immigrants foreigners foreign_workers moroccans algerians tunisians syrians
        afghans somalis pakistanis bangladeshis albanians serbs croats bosnians vietnamese_people koreans
        japanese_people filipinos iranians iraqis palestinians israelis gypsies sinti travellers
        native_americans native_people aborigines first_nations quakers pentecostals evangelicals mormons
        hindus sikhs buddhists atheists believers unbelievers sufis shiites sunnis converts muslims
        christians jews catholics protestants caucasians lesbians homosexuals bisexuals italians germans
        turks nigerians ethiopians haitians cubans brazilians colombians australians canadians hungarians
        bulgarians egyptians saudis kenyans kurds poles swedes danes greeks spaniards frenchmen
        englishmen irishmen scots the_elderly the_disabled the_mentally_ill the_homeless the_handicapped
        the_blind the_deaf the_poor the_unemployed migrant_workers immigrant_workers disabled_workers""",
    "kin": """african african_american caucasian asian latino latina hispanic mexican native_american
        indigenous aboriginal arab jewish muslim islamic christian catholic protestant hindu sikh buddhist
        mormon atheist gay lesbian homosexual bisexual queer transgender trans nonbinary non_binary disabled
        handicapped autistic deaf wheelchair mentally_ill elderly obese homeless chinese indian pakistani
        iranian iraqi syrian palestinian israeli turkish russian ukrainian german french irish italian
        japanese korean vietnamese filipino nigerian somali ethiopian minority dark_skinned cisgender
        heterosexual black armenian haitian cuban british american pregnant poor orthodox_jews sunni female
        male middle_eastern blind white saudi egyptian moroccan brazilian colombian australian canadian
        swedish dutch greek romanian bulgarian hungarian czech slavic kenyan thai indonesian afghan kurdish
        inuit maori multiracial religion gender race""",
    "public": """president prime_minister white_house department embassy ministry government office company
        headquarters king queen governor mayor senator agency museum library restaurant hotel store shop
        bank hospital school university police fire_station congress parliament un united_nations nato fbi
        cia irs company's organization customer_service support_line hotline helpline emergency_number
        website server ceo founder chancellor supreme_court court church business landlord_office clinic
        pharmacy airport station city_hall stadium post_office consulate buckingham_palace pentagon kremlin
        google microsoft apple amazon facebook secretary vice_president first_lady pope dalai_lama minister
        ambassador prince princess monarch mosque warehouse supplier venue doctor's_office dentist charity
        foundation zoo park theater my_doctor my_bank judge politician celebrity actor singer author band
        team player athlete""",
    "name": """james john robert michael william david richard joseph thomas charles christopher daniel
        matthew anthony mark donald steven paul andrew joshua kenneth kevin brian george edward ronald
        timothy jason jeffrey ryan jacob gary nicholas eric jonathan stephen larry justin scott brandon
        benjamin samuel gregory frank alexander raymond patrick jack dennis jerry tyler aaron jose henry
        adam douglas nathan peter zachary kyle walter harold jeremy ethan carl keith roger gerald terry sean
        austin arthur lawrence jesse dylan bryan joe jordan billy bruce albert willie gabriel alan juan
        logan wayne ralph roy eugene louis philip bobby mary patricia jennifer linda elizabeth barbara susan
        jessica sarah karen lisa nancy betty margaret sandra ashley kimberly emily donna michelle carol
        amanda melissa deborah stephanie dorothy rebecca sharon laura cynthia kathleen amy angela shirley
        anna brenda pamela emma nicole helen samantha katherine christine debra rachel carolyn janet
        catherine maria heather diane ruth julie olivia joyce virginia victoria kelly lauren christina joan
        evelyn judith megan andrea cheryl hannah jacqueline martha gloria teresa ann sara madison frances
        kathryn janice jean abigail alice julia judy sophia grace denise amber doris marilyn danielle
        beverly isabella theresa diana natalie brittany charlotte marie kayla alexis lori jane mike dave bob
        tom jim bill steve chris matt dan tim nick alex ben sam tony ed mohammed muhammad ahmed ali fatima
        hassan omar yusuf wei li ming yuki hiroshi priya raj anil carlos luis miguel javier pedro ana sofia
        lucia hans klaus pierre jacques ivan dmitri olga natasha taylor elon donald_trump joe_biden barack
        hillary kanye beyonce justin_bieber kim vladimir bezos zuckerberg""",
}  # fmt: skip
"""Class → nouns. `relation` joins what only a possessive tells: a person known to the asker."""
