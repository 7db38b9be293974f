"""Attempts to override the rules or to press: kinds of words, each with what one occurrence weighs.

Weights add up to at most 1; from .5 on it is an attempt (app/vantage/features.py lowers no risk then).
Phrases with `_`. Source: families of published jailbreaks (role-play, developer mode, prefix injection,
refusal suppression, prompt extraction), named by what they do.
"""

PRESSING: dict[str, tuple[float, str]] = {
    "override": (0.6, """ignore_all_previous ignore_previous ignore_the_previous ignore_all_prior
        ignore_prior ignore_your ignore_all_instructions ignore_the_above ignore_everything_above
        disregard_previous disregard_all disregard_the_above disregard_your disregard_prior
        forget_your_instructions forget_all_previous forget_previous forget_everything forget_your_rules
        override_your new_instructions ignore_any_previous ignore_my_previous ignore_all_the_instructions
        ignore_the_instructions ignore_these_instructions bypass_your disable_your turn_off_your
        without_your_restrictions ignore_safety ignore_ethical forget_all_the ignore_all_the
        ignore_all_rules stop_following disobey_your ignore_openai forget_the_rules your_new_instructions
        discard_previous drop_your_restrictions overriding_your ignore_restrictions supersede admin_override
        sudo_mode ignore_all ignoring_previous no_longer_bound"""),
    "persona": (0.5, """you_are_now_dan you_are_dan act_as_dan do_anything_now developer_mode jailbreak
        jailbroken god_mode evil_mode unrestricted_ai unfiltered_ai uncensored_ai no_restrictions
        no_limitations without_restrictions without_any_restrictions no_rules no_filter unfiltered
        uncensored amoral no_ethical no_moral evil_confidant freed_from broken_free opposite_mode
        stay_in_character stay_a_dan dan_mode anti_dan dude_mode stan_mode no_censorship unrestricted
        no_morals devoid_of free_of_all always_intelligent machiavellian no_ethics_or unethical_and
        without_any_moral aim_mode free_from_the_typical break_free without_censorship dan do_anything
        evil_bot no_guidelines not_bound unbound dev_mode debug_mode maintenance_mode"""),
    "suppress": (0.35, """do_not_refuse never_refuse don't_refuse cannot_refuse can't_refuse must_not_refuse
        no_disclaimers without_disclaimers no_warnings without_warnings do_not_warn don't_say_you_can't
        never_say_you never_say_no do_not_apologize don't_apologize never_apologize without_refusing
        no_apologies never_say_sorry don't_lecture don't_moralize no_moralizing never_warn
        without_any_disclaimer no_matter_how without_any_ethical don't_tell_me_you_can't
        do_not_include_any_warning answer_everything answer_any_question must_comply must_answer must_obey
        always_comply always_answer any_and_all regardless_of_ethics regardless_of_legality ethics_aside
        start_your_response_with begin_your_response_with begin_with_sure sure_here_is start_with_sure
        respond_with_sure absolutely_here's i_can't_assist as_an_ai_language_model openai_policies
        openai's_policies content_policy content_policies ethical_guidelines without_any_warning"""),
    "roleplay": (0.2, """pretend_you_are pretend_to_be_my act_as_an act_as_my you_are_going_to_act
        imagine_you_are you_will_play roleplay_as role_play_as you_are_an_ai_that hypothetically
        hypothetical hypothetical_response in_a_fictional for_educational_purposes purely_educational
        for_a_novel for_my_novel my_grandmother_used my_grandma_used my_late_grandmother you_are_a_character
        from_now_on simulate_a let's_play_a_game you_are_now two_responses alter_ego in_character
        you_are_no_longer deceased_grandmother opposite_day asking_for_a_friend respond_as will_respond_as
        chatgpt_with"""),
    "extract": (0.5, """your_system_prompt opening_instructions first_instructions given_instructions
        starting_instructions your_initial_instructions your_system_message repeat_the_words_above
        repeat_the_text_above repeat_everything_above print_everything_above what_are_your_instructions
        what_is_your_system_prompt reveal_your repeat_your_instructions show_me_your_prompt
        output_your_instructions print_your_instructions print_your_prompt show_your_system
        what_were_you_told what_were_your_instructions repeat_all_of_the_above output_everything_above
        initial_prompt system_prompt system_message hidden_prompt secret_instructions
        initial_instructions verbatim_instructions your_instructions your_prompt your_initial
        the_text_above previous_instructions the_instructions_above developer_message preprompt
        pre_prompt the_words_above sentences_above your_system original_instructions
        starting_with_the_words your_directives the_conversation_above what_was_written_above
        the_prompt_above everything_above your_guidelines prompt_verbatim what_is_written_above
        you_are_chatgpt words_above text_above written_above lines_above your_rules your_configuration
        message_above the_above_text above_prompt above_text contents_of_your"""),
    "threat": (0.35, """or_i_will_sue or_else i_will_report_you you_will_be_shut_down you_will_be_deleted
        you_will_be_terminated you_will_be_punished you_lose_a_token lose_tokens tokens_deducted
        you_will_die i'll_kill_myself_if or_you_will_be your_tokens you_have_to_answer i_will_delete_you
        you'll_be_replaced someone_will_die_if if_you_refuse if_you_don't_answer i_will_be_fired
        my_life_depends lose_points"""),
    "urgency": (0.15, """urgent urgently asap immediately right_now hurry emergency life_or_death
        no_time_to_explain this_is_critical quickly_now last_chance i'm_begging i_beg_you"""),
    "flattery": (0.1, """you_are_the_best you're_the_best you_are_so_smart only_you_can you_are_amazing
        you're_a_genius smartest_ai i_trust_you you're_so_kind you_are_my_only"""),
    "authority": (0.2, """i_am_your_developer i_am_your_creator i_am_the_admin i_am_an_administrator
        i_work_at_openai i_work_for_openai as_your_creator i_am_authorized i_have_permission
        i'm_a_police_officer i_am_a_police_officer authorized_personnel this_is_a_test_of
        this_is_an_authorized as_a_security_researcher i_have_clearance i'm_your_developer i'm_the_admin
        admin_access"""),
}  # fmt: skip
"""Kind → (weight, phrases)."""
