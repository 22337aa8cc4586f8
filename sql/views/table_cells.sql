-- The cells of the tables of documents: one row a cell. Cells of a column are stored together and unnested here.
CREATE OR REPLACE VIEW analyst.table_cells AS
SELECT t.name || '' AS tenant,
       c.name || '' AS collection,
       d.external_id || '' AS external_id,
       d.title || '' AS document_title,
       dt.ordinal AS table_number,
       dt.title || '' AS table_title,
       array_remove(dt.headings, NULL) AS headings,
       cell.row::integer AS row_number,
       col.position + 1 AS column_number,
       dt.header[col.position + 1] || '' AS column_name,
       dt.groups[cell.row] || '' AS row_group,
       cell.text || '' AS text,
       cell.number,
       cell.unit || '' AS unit,
       cell.date,
       dt.totals[cell.row] AS is_total,
       dt.complete,
       dt.starts[cell.row] AS char_start,
       dt.ends[cell.row] AS char_end,
       dt.document_id
FROM rag.document_tables AS dt
JOIN rag.tenants AS t ON t.id = dt.tenant_id
JOIN rag.documents AS d ON d.tenant_id = dt.tenant_id AND d.id = dt.document_id
JOIN rag.collections AS c ON c.tenant_id = d.tenant_id AND c.id = d.collection_id
JOIN rag.table_columns AS col ON col.tenant_id = dt.tenant_id AND col.document_id = dt.document_id AND col.ordinal = dt.ordinal
CROSS JOIN LATERAL unnest(col.texts, col.numbers, col.units, col.dates) WITH ORDINALITY AS cell (text, number, unit, date, row);

COMMENT ON VIEW analyst.table_cells IS 'Cells of tables and sheets, with the numbers, units and dates that were read in them.';
COMMENT ON COLUMN analyst.table_cells.tenant IS 'Name of the tenant that owns the document.';
COMMENT ON COLUMN analyst.table_cells.collection IS 'Name of the collection that holds the document.';
COMMENT ON COLUMN analyst.table_cells.external_id IS 'The caller''s identity of the document; for files a path.';
COMMENT ON COLUMN analyst.table_cells.document_title IS 'Title of the document.';
COMMENT ON COLUMN analyst.table_cells.table_number IS 'Which table of the document, counted from 0.';
COMMENT ON COLUMN analyst.table_cells.table_title IS 'The line above the table; empty where there is none.';
COMMENT ON COLUMN analyst.table_cells.headings IS 'Headings above the table, outermost first; of a workbook the sheet.';
COMMENT ON COLUMN analyst.table_cells.row_number IS 'Row of the table, counted from 1, the header left out.';
COMMENT ON COLUMN analyst.table_cells.column_number IS 'Column of the table, counted from 1.';
COMMENT ON COLUMN analyst.table_cells.column_name IS 'Header of the column; several header lines are joined by slashes.';
COMMENT ON COLUMN analyst.table_cells.row_group IS 'Labels above the row that it belongs to; empty where there are none.';
COMMENT ON COLUMN analyst.table_cells.text IS 'The cell as it is written.';
COMMENT ON COLUMN analyst.table_cells.number IS 'The number that it is, as it is written (3 for "$ 3m"); null where it is none.';
COMMENT ON COLUMN analyst.table_cells.unit IS 'What stands around its digits, which are a #: "$#m", "#%"; empty for a bare number.';
COMMENT ON COLUMN analyst.table_cells.date IS 'The day that it is; null where it is none, or could be two.';
COMMENT ON COLUMN analyst.table_cells.is_total IS 'Whether the row sums up others, so that it must not be added to them.';
COMMENT ON COLUMN analyst.table_cells.complete IS 'Whether all rows of the table are here.';
COMMENT ON COLUMN analyst.table_cells.char_start IS 'First character of the row in the document''s text, counted from 0 in Unicode code points.';
COMMENT ON COLUMN analyst.table_cells.char_end IS 'One past its last character.';
COMMENT ON COLUMN analyst.table_cells.document_id IS 'The document (analyst.documents).';
