(create_function (object_reference) @name) @function
(create_trigger . (keyword_create) (object_reference) @name) @function
(create_table (object_reference) @name) @struct
(create_view (object_reference) @name) @struct
(create_materialized_view (object_reference) @name) @struct
(create_type (object_reference) @name) @type
