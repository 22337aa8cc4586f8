/* Which questions of the last week were not answered, or not surely, most frequent first: what the documents lack.

   cairn sql "$(cat examples/unanswered.sql)" */
SELECT lower(question)                                   AS question,
       count(*)                                          AS asked,
       count(*) FILTER (WHERE answered = 'no')           AS not_answered,
       count(*) FILTER (WHERE answered = 'unsure')       AS unsure,
       round(avg(confidence)::numeric, 2)                AS confidence,
       max(started_at)::timestamp(0)                     AS last_asked
FROM analyst.retrieval_runs
WHERE kind = 'query' AND answered <> 'yes' AND started_at > now() - interval '7 days'
GROUP BY 1
ORDER BY asked DESC, last_asked DESC
LIMIT 20
