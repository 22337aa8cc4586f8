-- What spoke for the quotation that an extracted answer begins with: one row per answer. Kept for trace.retentionDays days.
CREATE OR REPLACE VIEW analyst.quotations AS
SELECT t.name || '' AS tenant,
       r.id AS run_id,
       r.started_at,
       (r.plan ->> 'found')::boolean AS shown,
       r.answer ->> 'answered' AS answered,
       (r.answer ->> 'confidence')::double precision AS confidence,
       (r.answer #>> '{selection,kind}') AS kind,
       (r.answer #>> '{selection,score}')::double precision AS score,
       (r.answer #>> '{selection,margin}')::double precision AS margin,
       (r.answer #>> '{selection,cosine}')::double precision AS cosine,
       (r.answer #>> '{selection,rank}')::double precision AS rank,
       (r.answer #>> '{selection,retrieval}')::double precision AS retrieval,
       (r.answer #>> '{selection,matched}')::boolean AS matched,
       (r.answer #>> '{selection,idf_direct}')::double precision AS idf_direct,
       (r.answer #>> '{selection,idf_around}')::double precision AS idf_around,
       (r.answer #>> '{selection,topic_direct}')::double precision AS topic_direct,
       (r.answer #>> '{selection,topic_around}')::double precision AS topic_around,
       (r.answer #>> '{selection,adjacent}')::double precision AS adjacent,
       (r.answer #>> '{selection,numbers}')::double precision AS numbers,
       (r.answer #>> '{selection,names}')::double precision AS names,
       (r.answer #>> '{selection,fits}')::boolean AS fits,
       (r.answer #>> '{selection,label}')::double precision AS label,
       (r.answer #>> '{selection,anywhere}')::double precision AS anywhere,
       (r.answer #>> '{selection,lead}')::double precision AS lead,
       (r.answer #>> '{selection,missing}')::integer AS missing,
       (r.answer #>> '{selection,question_words}')::integer AS question_words,
       (r.answer #>> '{selection,english}')::boolean AS english,
       (CASE WHEN (r.plan ->> 'found')::boolean THEN r.answer #>> '{citations,0,document_id}' END)::uuid AS document_id,
       (CASE WHEN (r.plan ->> 'found')::boolean THEN r.answer #>> '{citations,0,passage_id}' END)::uuid AS passage_id,
       (r.answer #>> '{selection,read}')::double precision AS read,
       (r.answer #>> '{selection,read_most}')::double precision AS read_most,
       (r.answer #>> '{selection,read_margin}')::double precision AS read_margin,
       r.answer ->> 'confidence_word' AS confidence_word
FROM rag.runs AS r
JOIN rag.tenants AS t ON t.id = r.tenant_id
WHERE r.answer ? 'selection';

COMMENT ON VIEW analyst.quotations IS
    'Scores of the extractor: what spoke for the first quotation of an answer that no model wrote, also of one that was withheld, one row each.';
COMMENT ON COLUMN analyst.quotations.tenant IS 'Name of the tenant that asked.';
COMMENT ON COLUMN analyst.quotations.run_id IS 'The run that answered (analyst.retrieval_runs has question and answer).';
COMMENT ON COLUMN analyst.quotations.started_at IS 'When the run began. Partitions are days (UTC): a condition on this column makes queries fast.';
COMMENT ON COLUMN analyst.quotations.shown IS 'Whether it was given as an answer, or withheld because it probably is none.';
COMMENT ON COLUMN analyst.quotations.answered IS 'yes, unsure (a guess that is shown as one) or no (withheld).';
COMMENT ON COLUMN analyst.quotations.confidence IS 'Probability that it answers, 0 to 1, after the calibration of the collection.';
COMMENT ON COLUMN analyst.quotations.kind IS 'Kind of text the quotation is: prose, item (of a list), row (of a table), code, heading.';
COMMENT ON COLUMN analyst.quotations.score IS 'What the selection gave the quotation, in log odds; compare within one run only.';
COMMENT ON COLUMN analyst.quotations.margin IS 'By how much more than the best of what says something else; 0 where there was nothing else.';
COMMENT ON COLUMN analyst.quotations.cosine IS 'Cosine of question and quotation; null where it was not embedded.';
COMMENT ON COLUMN analyst.quotations.rank IS 'Reciprocal place of its passage in the search: 1 for the first.';
COMMENT ON COLUMN analyst.quotations.retrieval IS 'Score of its passage as a share of the best one''s.';
COMMENT ON COLUMN analyst.quotations.matched IS 'Whether it stands in the chunk that is nearest to the question.';
COMMENT ON COLUMN analyst.quotations.idf_direct IS 'Share of the question''s words that stand in it, weighed by rarity, 0 to 1.';
COMMENT ON COLUMN analyst.quotations.idf_around IS 'The same in it, its headings, its neighbours and its passage, the farther the less.';
COMMENT ON COLUMN analyst.quotations.topic_direct IS 'Share of the question''s words that stand in it, names and numbers counted double, 0 to 1.';
COMMENT ON COLUMN analyst.quotations.topic_around IS 'The same in it and around it, the farther the less.';
COMMENT ON COLUMN analyst.quotations.adjacent IS 'Of pairs of words that stand together in the question, the share that does so in it.';
COMMENT ON COLUMN analyst.quotations.numbers IS 'Share of the question''s numbers that it has; 1 where there are none.';
COMMENT ON COLUMN analyst.quotations.names IS 'Share of the question''s names that it has; 1 where there are none.';
COMMENT ON COLUMN analyst.quotations.fits IS 'Whether it holds what is asked for (a number, a time, a name, a reason); null: nothing in particular.';
COMMENT ON COLUMN analyst.quotations.label IS 'Of a table''s row, share of its label''s words that the question has.';
COMMENT ON COLUMN analyst.quotations.anywhere IS 'Share of the question''s words, weighed by rarity, that stand in any passage that was read.';
COMMENT ON COLUMN analyst.quotations.lead IS 'By how much the passage that holds most of them is ahead of the third.';
COMMENT ON COLUMN analyst.quotations.missing IS 'Names and numbers of the question that stand in no passage that was read.';
COMMENT ON COLUMN analyst.quotations.question_words IS 'Words of content in the question.';
COMMENT ON COLUMN analyst.quotations.english IS 'Whether the question was taken for English, which the embedding model knows best.';
COMMENT ON COLUMN analyst.quotations.document_id IS 'The document that is quoted first (analyst.documents); null where it was withheld.';
COMMENT ON COLUMN analyst.quotations.passage_id IS 'The passage that it stands in (analyst.passages); null where it was withheld.';
COMMENT ON COLUMN analyst.quotations.read IS 'Log odds of the reader that the stretch it stands in answers; null where nothing was read.';
COMMENT ON COLUMN analyst.quotations.read_most IS 'The most that the reader gave to any stretch; 0 where nothing was read.';
COMMENT ON COLUMN analyst.quotations.read_margin IS 'As margin, with what the reader says; 0 where nothing was read.';
COMMENT ON COLUMN analyst.quotations.confidence_word IS 'What the confidence is worth: found, likely, not_sure; null where it was withheld.';
