"""What grammars call their functions, their classes, and what these stand in: one table for all of them.

A test holds that each name is one of an installed grammar.
"""


def named(text: str) -> frozenset[str]:
    """Kinds of nodes."""
    return frozenset(text.split())


FUNCTIONS = named("""
    function_definition function_declaration generator_function_declaration function_item method_declaration
    constructor_declaration compact_constructor_declaration destructor_declaration operator_declaration
    conversion_operator_declaration indexer_declaration method_definition method singleton_method
    macro_definition
""")
CLASSES = named("""
    class_definition class_declaration abstract_class_declaration interface_declaration enum_declaration
    record_declaration struct_declaration annotation_type_declaration trait_declaration class_specifier
    struct_specifier union_specifier enum_specifier struct_item enum_item union_item trait_item impl_item
    type_declaration type_alias_declaration type_definition class module singleton_class
""")
LAMBDAS = named("arrow_function function_expression generator_function class")
"""Functions and classes where they are values."""
AROUND = named("""
    decorated_definition export_statement template_declaration ambient_declaration expression_statement
    lexical_declaration variable_declaration variable_declarator assignment_expression field_definition
    public_field_definition
""")
"""What one definition may stand in."""
INSIDE = ("definition", "declaration", "value", "right")
"""Fields of AROUND that lead to it."""
SPACES = named("""
    namespace_definition namespace_declaration file_scoped_namespace_declaration internal_module mod_item
    foreign_mod_item linkage_specification declaration_list preproc_if preproc_ifdef preproc_else
    preproc_elif if_statement elif_clause else_clause try_statement except_clause block statement_block
    class_body body_statement enum_body_declarations field_declaration_list enum_declaration_list
""") | {"ERROR"}
"""What definitions may stand in, side by side."""
COMMENTS = named("""
    comment line_comment block_comment html_comment attribute_item inner_attribute_item decorator
    attribute_declaration
""")
"""What belongs to the definition right below it."""
