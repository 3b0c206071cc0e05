-- Functions that read. Each takes one JSON object whose keys choose conditions from a list that stands here: no text of a caller
-- becomes part of a statement.

CREATE FUNCTION cto.read_meta() RETURNS SETOF cto.meta
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT * FROM meta
$$;

-- The timeline on which the server writes: another one after a standby was promoted.
CREATE FUNCTION cto.read_timeline() RETURNS TEXT
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
$$;

CREATE FUNCTION cto.read_head() RETURNS TABLE (seq BIGINT, hash TEXT)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT seq, hash::TEXT FROM entries ORDER BY seq DESC LIMIT 1
$$;

-- The entry by which time last went back; 0 if it never did.
CREATE FUNCTION cto.read_time_base() RETURNS BIGINT
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT coalesce((SELECT value::BIGINT FROM meta WHERE key = 'time_base'), 0)
$$;

CREATE FUNCTION cto.read_latest_time() RETURNS TEXT
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT time::TEXT FROM entries WHERE seq >= read_time_base() ORDER BY time DESC LIMIT 1
$$;

CREATE FUNCTION cto.count_rows(wanted TEXT) RETURNS BIGINT
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT CASE wanted
        WHEN 'runs' THEN (SELECT value FROM counters WHERE name = 'runs')
        WHEN 'requests' THEN (SELECT count(*) FROM requests)
    END
$$;

CREATE FUNCTION cto.read_lease(wanted TEXT) RETURNS SETOF cto.leases
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT * FROM leases WHERE run_id = wanted
$$;

CREATE FUNCTION cto.runs_named_beside(kinds TEXT[]) RETURNS SETOF TEXT
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT DISTINCT run_id::TEXT FROM entries WHERE run_id IS NOT NULL AND kind <> ALL (kinds)
$$;

CREATE FUNCTION cto.find_entries(asked JSONB) RETURNS SETOF cto.entries
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    conditions TEXT;
BEGIN
    SELECT coalesce(string_agg(condition, ' AND '), 'TRUE') INTO conditions FROM (VALUES
        ('seq', 'seq = ($1->>''seq'')::BIGINT'),
        ('after_seq', 'seq > ($1->>''after_seq'')::BIGINT'),
        ('run_id', 'run_id = $1->>''run_id'''),
        ('kind', 'kind = $1->>''kind'''),
        ('kinds', 'kind = ANY (ARRAY(SELECT jsonb_array_elements_text($1->''kinds'')))'),
        ('models', 'kind IN (''model.reserved'', ''model.settled'')'),
        ('request', 'request = $1->>''request'''),
        ('since', 'time >= $1->>''since''')
    ) AS known (name, condition) WHERE asked ? name;
    RETURN QUERY EXECUTE format('SELECT * FROM entries WHERE %s ORDER BY seq LIMIT ($1->>''limit'')::BIGINT', conditions)
        USING asked;
END $$;

CREATE FUNCTION cto.find_runs(asked JSONB) RETURNS SETOF cto.runs
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    conditions TEXT;
    ordered TEXT := CASE asked->>'order'
        WHEN 'newest' THEN 'ORDER BY started_at DESC, seq DESC'
        WHEN 'oldest' THEN 'ORDER BY started_at, seq'
        WHEN 'identity' THEN 'ORDER BY source_id, model'
        WHEN 'model' THEN 'ORDER BY model'
        WHEN 'seq' THEN 'ORDER BY seq'
        ELSE ''
    END;
BEGIN
    SELECT coalesce(string_agg(condition, ' AND '), 'TRUE') INTO conditions FROM (VALUES
        ('run_id', 'run_id = $1->>''run_id'''),
        ('suffix', 'suffix = $1->>''suffix'''),
        ('id_start', 'run_id >= $1->>''id_start'' AND run_id < $1->>''id_end'''),
        ('suffix_start', 'suffix >= $1->>''suffix_start'' AND suffix < $1->>''suffix_end'''),
        ('status', 'status = $1->>''status'''),
        ('engine', 'engine = $1->>''engine'''),
        ('task_id', 'task_id = $1->>''task_id'''),
        ('purpose', 'purpose = $1->>''purpose'''),
        ('stage', 'stage = ($1->>''stage'')::SMALLINT'),
        ('since', 'started_at >= $1->>''since'''),
        ('before', '(started_at, seq) < ($1->>''before'', ($1->>''before_seq'')::BIGINT)'),
        ('after', '(started_at, seq) > ($1->>''after'', ($1->>''after_seq'')::BIGINT)'),
        ('sealed_after',
         'run_id IN (SELECT run_id FROM entries WHERE seq > ($1->>''sealed_after'')::BIGINT
            AND seq <= ($1->>''sealed_up_to'')::BIGINT AND kind = ''evidence.sealed'')
          AND sealed_seq > ($1->>''sealed_after'')::BIGINT'),
        ('seq_after', 'seq > ($1->>''seq_after'')::BIGINT'),
        ('source_id', 'source_id = $1->>''source_id'' AND model = $1->>''model'''),
        ('no_identity', 'source_id IS NULL AND model IS NULL'),
        ('identity_after', '(source_id, model) > ($1->>''identity_after'', $1->>''model_after'')'),
        ('identified', 'right(source_id, 8) <> ''@unknown'''),
        ('of_model', 'model = $1->>''of_model'''),
        ('from_model', 'model >= $1->>''from_model'''),
        ('after_model', 'model > $1->>''after_model'''),
        ('weighty', '(collected_seq IS NULL OR status <> ''pass'')'),
        ('passes', 'status = ''pass'' AND collected_seq IS NULL'),
        ('unanswered', 'status = ''pass'' AND purpose = ''governed'' AND stage >= 5 AND outcome_seq IS NULL AND collected_seq IS NULL'),
        -- Documents of stage 6 are governed, and no run.
        ('no_document',
         'NOT (stage = 6 AND task_id IN (''stage6-candidate-default'', ''stage6-real-governed-refresh''))')
    ) AS known (name, condition) WHERE asked ? name;
    RETURN QUERY EXECUTE format(
        'SELECT * FROM runs WHERE %s %s LIMIT ($1->>''limit'')::BIGINT OFFSET coalesce(($1->>''skip'')::BIGINT, 0)',
        conditions, ordered) USING asked;
END $$;

-- The columns, and the entry by which time went back since.
CREATE FUNCTION cto.find_requests(asked JSONB) RETURNS TABLE (
    request TEXT, seq BIGINT, task_id TEXT, stage SMALLINT, requested_at TEXT, grants BIGINT, held_seq BIGINT, denied_seq BIGINT,
    revoked_seq BIGINT, used_seq BIGINT, used_by TEXT, void_seq BIGINT)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    conditions TEXT;
    ordered TEXT := CASE asked->>'order' WHEN 'oldest' THEN 'ORDER BY r.seq' ELSE 'ORDER BY r.seq DESC' END;
BEGIN
    SELECT coalesce(string_agg(condition, ' AND '), 'TRUE') INTO conditions FROM (VALUES
        ('request', 'r.request = $1->>''request'''),
        ('task_id', 'r.task_id = $1->>''task_id'''),
        ('undecided', 'r.used_seq IS NULL AND r.denied_seq IS NULL AND r.revoked_seq IS NULL'),
        ('before_seq', 'r.seq < ($1->>''before_seq'')::BIGINT')
    ) AS known (name, condition) WHERE asked ? name;
    RETURN QUERY EXECUTE format(
        'SELECT r.request::TEXT, r.seq, r.task_id::TEXT, r.stage, r.requested_at::TEXT, r.grants, r.held_seq, r.denied_seq, '
        'r.revoked_seq, r.used_seq, r.used_by::TEXT, nullif(greatest(r.seq, $2), r.seq) '
        'FROM requests r WHERE %s %s LIMIT ($1->>''limit'')::BIGINT', conditions, ordered)
        USING asked, read_time_base();
END $$;
