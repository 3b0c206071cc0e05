-- Repetitions of runs. A worker's role may submit one kind of run: the repetition of a run that it has sealed, word for word as it was
-- submitted, if the order of that run asks for it.

CREATE TABLE cto.retries (
    run_id cto.word PRIMARY KEY
);

CREATE FUNCTION cto.check_retry(of_time TEXT, of_run TEXT, of_body TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    body JSONB := as_json(of_body)::JSONB;
    names TEXT[] := ARRAY['run_id', 'retry_of', 'attempt', 'not_before'];
    repeated TEXT := body->>'retry_of';
    sealed runs;
    submitted JSONB;
BEGIN
    IF of_run IS NOT NULL OR repeated IS NULL THEN
        RAISE EXCEPTION 'entries of kind queue.submitted are not a worker''s';
    END IF;
    IF of_time COLLATE "C" > queue_clock(30) THEN
        RAISE EXCEPTION 'the entry is dated ahead of the server';
    END IF;
    IF canonical(as_json(of_body)) IS DISTINCT FROM replace(of_body, '\u0000', U&'\FFFD') THEN
        RAISE EXCEPTION 'the body of the entry is not in its canonical form';
    END IF;
    IF NOT holds(repeated) THEN
        RAISE EXCEPTION 'run % is not of role %', repeated, session_user;
    END IF;
    SELECT r.* INTO sealed FROM runs r WHERE r.run_id = repeated AND r.sealed_seq IS NOT NULL;
    SELECT as_json(e.body)::JSONB INTO submitted FROM queue q JOIN entries e ON e.seq = q.seq
        WHERE q.run_id = repeated AND q.state = 'sealed' AND NOT q.stopping;
    IF (is_run_id(body->>'run_id') AND is_stamp(body->>'not_before') AND sealed.status <> 'pass' AND sealed.stage <= 3
        AND body - names = submitted - names AND jsonb_typeof(body->'attempt') = 'number'
        AND (body->>'attempt')::NUMERIC = coalesce((submitted->>'attempt')::NUMERIC, 0) + 1
        AND (body->>'attempt')::NUMERIC <= (submitted#>>'{retry,attempts}')::NUMERIC
        AND sealed.reasons::TEXT::JSONB <@ (submitted#>'{retry,on}') AND sealed.reasons::TEXT::JSONB <> '[]') IS NOT TRUE THEN
        RAISE EXCEPTION 'run % is not to be repeated so', repeated;
    END IF;
    INSERT INTO retries VALUES (repeated);
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION 'run % was repeated before', repeated;
END $$;

-- As before, and repetitions.
ALTER FUNCTION cto.check_worker_entry(TEXT, TEXT, TEXT, TEXT) RENAME TO check_worker_step;
CREATE FUNCTION cto.check_worker_entry(of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF of_kind = 'queue.submitted' THEN
        PERFORM check_retry(of_time, of_run, of_body);
    ELSE
        PERFORM check_worker_step(of_time, of_kind, of_run, of_body);
    END IF;
END $$;
