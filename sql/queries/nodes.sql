-- Where the rows of a tenant lie in a database that is distributed by Citus, as the coordinator knows it.

-- name: has_citus
SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL

-- name: is_distributed
SELECT rag.is_distributed()

-- name: home
SELECT n.nodename AS host, n.nodeport AS port
FROM pg_dist_placement AS p JOIN pg_dist_node AS n ON n.groupid = p.groupid AND n.noderole = 'primary'
WHERE p.shardid = get_shard_id_for_distribution_column('rag.collections', $1::bigint)
