-- Lists of runs by stage, and by the time that they took.
CREATE INDEX runs_by_stage ON cto.runs (stage, started_at, seq);
CREATE INDEX runs_by_duration ON cto.runs (duration_ms, seq) WHERE duration_ms IS NOT NULL;

CREATE OR REPLACE FUNCTION cto.find_runs(asked JSONB) RETURNS SETOF cto.runs
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    conditions TEXT;
    ordered TEXT := CASE asked->>'order'
        WHEN 'newest' THEN 'ORDER BY started_at DESC, seq DESC'
        WHEN 'latest' THEN 'ORDER BY seq DESC'
        WHEN 'oldest' THEN 'ORDER BY started_at, seq'
        WHEN 'longest' THEN 'ORDER BY duration_ms DESC, seq DESC'
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
        ('timed', 'duration_ms IS NOT NULL'),
        ('shorter', '(duration_ms, seq) < (($1->>''shorter'')::BIGINT, ($1->>''shorter_seq'')::BIGINT)'),
        ('sealed_after',
         'run_id IN (SELECT run_id FROM entries WHERE seq > ($1->>''sealed_after'')::BIGINT
            AND seq <= ($1->>''sealed_up_to'')::BIGINT AND kind = ''evidence.sealed'')
          AND sealed_seq > ($1->>''sealed_after'')::BIGINT'),
        ('seq_after', 'seq > ($1->>''seq_after'')::BIGINT'),
        ('started_before', 'seq < ($1->>''started_before'')::BIGINT'),
        ('source_id', 'source_id = $1->>''source_id'' AND model = $1->>''model'''),
        ('no_identity', 'source_id IS NULL AND model IS NULL'),
        ('identity_after', '(source_id, model) > ($1->>''identity_after'', $1->>''model_after'')'),
        ('identified', 'right(source_id, 8) <> ''@unknown'''),
        ('of_model', 'model = $1->>''of_model'''),
        ('from_model', 'model >= $1->>''from_model'''),
        ('after_model', 'model > $1->>''after_model'''),
        ('weighty', '(collected_seq IS NULL OR status <> ''pass'')'),
        ('weighing', '(collected_seq IS NULL OR cto.may_count_against(status, reasons))'),
        ('deciding', '(cto.may_count_against(status, reasons) OR status = ''pass'' AND collected_seq IS NULL)'),
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
