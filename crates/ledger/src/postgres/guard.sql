-- Stricter checks of a worker's entries. The program must be able to read every entry again: one stolen machine stops no other.

-- True of a run that was taken over after its lease had lapsed. Its new holder may end it, and may not say that it passed.
ALTER TABLE cto.holders ADD COLUMN taken BOOLEAN NOT NULL DEFAULT FALSE;
-- Runs from before there were names: nobody can say whose they are, so that any worker may end them in the same way.
UPDATE cto.holders SET taken = TRUE WHERE role = '';

-- Number of entries of a day that a role has appended about a run that need not be its own.
CREATE TABLE cto.remarks (
    run_id cto.word NOT NULL,
    role cto.word NOT NULL,
    kind cto.word NOT NULL,
    day cto.word NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (run_id, role, kind, day)
);

-- Reasons that the program of this version can read.
CREATE TABLE cto.reasons (code cto.word PRIMARY KEY);
INSERT INTO cto.reasons SELECT unnest(string_to_array(
    'secret_leak canary_touched sandbox_violation forbidden_action_attempted source_repository_mutated forbidden_path_change '
    'protected_file_changed disallowed_file_change build_product_in_patch patch_not_reproducible no_diff verification_weakened '
    'verification_failed engine_failed lifecycle_timeout_after_valid_patch agent_protocol model_fallback_blocked '
    'hosted_tool_refused model_evidence_missing missing_required_event dirty_ending_tree artifact_write_failure '
    'claim_contradicted harness_interrupted reviewer_rejected timeout budget_exceeded halted contract_invalid gate_missing '
    'stage_not_earned missing_test_command source_not_admitted executable_digest_mismatch license_unresolved model_not_admitted '
    'provider_auth_unavailable local_provider_config_missing provider_response_shape environment_broken contract_premise_false '
    'engine_copy_missing source_missing tool_missing target_not_admitted unowned_repository critical_repository '
    'approval_missing approval_expired approval_consumed approval_mismatch approval_not_comparable approval_revoked '
    'approval_held approval_not_yet_valid ledger_continuity_unknown approval_denied sandbox_unavailable dirty_starting_tree '
    'provider_unavailable missing_operator_outcome', ' '));

-- A time as the program reads it: no leap second and no hour 24, both of which the database takes.
CREATE OR REPLACE FUNCTION cto.is_stamp(of_time TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN coalesce(of_time ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z$'
        AND of_time COLLATE "C" < '9999-12-30' AND of_time::TIMESTAMPTZ IS NOT NULL, FALSE);
EXCEPTION WHEN data_exception THEN
    RETURN FALSE;
END $$;

CREATE FUNCTION cto.is_run_id(of_text TEXT) RETURNS BOOLEAN
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT coalesce(length(of_text) <= 128
        AND of_text ~ '^[0-9]{8}T[0-9]{6}Z-[A-Za-z0-9][A-Za-z0-9._-]{0,63}-[a-z0-9]+$', FALSE)
$$;

CREATE FUNCTION cto.is_digest(of_text TEXT) RETURNS BOOLEAN
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT coalesce(of_text ~ '^[0-9a-f]{64}$', FALSE)
$$;

-- A whole number as the program counts, or nothing.
CREATE FUNCTION cto.is_count(of_value JSON) RETURNS BOOLEAN
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF of_value IS NULL OR json_typeof(of_value) = 'null' THEN
        RETURN TRUE;
    END IF;
    RETURN json_typeof(of_value) = 'number' AND of_value::TEXT ~ '^(0|[1-9][0-9]{0,15})$'
        AND of_value::TEXT::NUMERIC <= 9007199254740991;
END $$;

-- A text member of this form.
CREATE FUNCTION cto.has_text(body JSON, member TEXT, form TEXT) RETURNS BOOLEAN
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT coalesce(json_typeof(body->member) = 'string' AND body->>member ~ form, FALSE)
$$;

CREATE FUNCTION cto.lacks(body JSON, member TEXT) RETURNS BOOLEAN
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT coalesce(json_typeof(body->member) = 'null', TRUE)
$$;

-- A number in its canonical spelling. Those that JSON writes with an exponent are left out: no entry of ours has one.
CREATE FUNCTION cto.is_canonical_number(of_text TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF of_text ~ '^(0|-?[1-9][0-9]{0,15})$' THEN
        RETURN abs(of_text::NUMERIC) <= 9007199254740991;
    END IF;
    RETURN of_text ~ '^-?(0|[1-9][0-9]{0,14})\.[0-9]{0,14}[1-9]$' AND of_text::DOUBLE PRECISION::TEXT = of_text;
END $$;

-- The canonical form of a value at most this deep; nothing of one that has none. The program reads no deeper value, and its order of keys
-- is that of the database only below the surrogates.
CREATE FUNCTION cto.canonical_within(of_value JSON, depth INTEGER) RETURNS TEXT
LANGUAGE plpgsql IMMUTABLE STRICT SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    item RECORD;
    parts TEXT[] := '{}';
    last TEXT;
    inner_form TEXT;
BEGIN
    CASE json_typeof(of_value)
    WHEN 'object' THEN
        FOR item IN SELECT key, value FROM json_each(of_value) ORDER BY key COLLATE "C" LOOP
            inner_form := CASE WHEN depth > 0 THEN canonical_within(item.value, depth - 1) END;
            IF inner_form IS NULL OR item.key = last OR item.key COLLATE "C" >= U&'\E000' THEN
                RETURN NULL;
            END IF;
            last := item.key;
            parts := parts || (to_json(item.key)::TEXT || ':' || inner_form);
        END LOOP;
        RETURN '{' || array_to_string(parts, ',') || '}';
    WHEN 'array' THEN
        FOR item IN SELECT value FROM json_array_elements(of_value) WITH ORDINALITY AS items (value, place) ORDER BY place LOOP
            inner_form := CASE WHEN depth > 0 THEN canonical_within(item.value, depth - 1) END;
            IF inner_form IS NULL THEN
                RETURN NULL;
            END IF;
            parts := parts || inner_form;
        END LOOP;
        RETURN '[' || array_to_string(parts, ',') || ']';
    WHEN 'string' THEN
        RETURN to_json(of_value #>> '{}')::TEXT;
    WHEN 'number' THEN
        RETURN CASE WHEN is_canonical_number(of_value::TEXT) THEN of_value::TEXT END;
    ELSE
        RETURN btrim(of_value::TEXT);
    END CASE;
END $$;

CREATE OR REPLACE FUNCTION cto.canonical(of_value JSON) RETURNS TEXT
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT canonical_within(of_value, 40)
$$;

-- The document that the detail of an entry keeps; nothing where there is none that can be read.
CREATE FUNCTION cto.read_document(of_body TEXT) RETURNS JSON
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    RETURN as_json(as_json(of_body)#>>'{detail,document}');
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$;

-- Holds the run, and has not taken it over.
CREATE FUNCTION cto.holds_fully(of_run TEXT) RETURNS BOOLEAN
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM holders WHERE run_id = of_run AND role = session_user::TEXT AND NOT taken)
$$;

CREATE FUNCTION cto.check_started(of_run TEXT, body JSON) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF NOT (is_run_id(of_run) AND has_text(body, 'task_id', '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$')
        AND has_text(body, 'engine', '^[^[:cntrl:]]+$') AND has_text(body, 'purpose', '^(governed|validation)$')
        AND json_typeof(body->'stage') = 'number' AND body->>'stage' ~ '^[1-6]$'
        AND (lacks(body, 'owner') OR has_text(body, 'owner', '^[0-9a-f]{64}$')) AND is_count(body->'epoch')) IS NOT FALSE THEN
        RAISE EXCEPTION 'the entry is no start of a run';
    END IF;
    IF EXISTS (SELECT 1 FROM queue WHERE run_id = of_run
        AND (task_id, engine, stage) IS DISTINCT FROM (body->>'task_id', body->>'engine', (body->>'stage')::SMALLINT)) THEN
        RAISE EXCEPTION 'run % was submitted with other words', of_run;
    END IF;
END $$;

CREATE FUNCTION cto.is_identity(identity JSON) RETURNS BOOLEAN
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT coalesce(json_typeof(identity) = 'object' AND has_text(identity, 'source_id', '^[^[:cntrl:]]*$')
        AND (lacks(identity, 'model') OR (json_typeof(identity->'model') = 'object'
            AND has_text(identity->'model', 'provider', '^[!-.0-~]{1,200}$')
            AND has_text(identity->'model', 'model', '^[!-~]{1,200}$'))), FALSE)
$$;

CREATE FUNCTION cto.are_reasons(listed JSON) RETURNS BOOLEAN
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF listed IS NULL OR json_typeof(listed) <> 'array' THEN
        RETURN FALSE;
    END IF;
    RETURN NOT EXISTS (SELECT 1 FROM json_array_elements(listed) AS items (reason)
        WHERE json_typeof(reason) <> 'string' OR reason#>>'{}' NOT IN (SELECT code::TEXT FROM reasons));
END $$;

CREATE FUNCTION cto.check_sealed(of_run TEXT, body JSON) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF NOT (has_text(body, 'status', '^(pass|fail|blocked)$') AND is_stamp(body->>'finished_at')
        AND body->>'finished_at' COLLATE "C" <= queue_clock(30) AND NOT lacks(body, 'duration_ms') AND is_count(body->'duration_ms')
        AND are_reasons(body->'reasons') AND is_count(body->'tests_passed') AND is_count(body->'tests_executed')
        AND has_text(body, 'attestation_sha256', '^[0-9a-f]{64}$') AND has_text(body, 'bundle', '')
        AND body->>'bundle' = 'harness-runs/' || of_run AND (lacks(body, 'owner') OR has_text(body, 'owner', '^[0-9a-f]{64}$'))
        AND (lacks(body, 'identity') OR is_identity(body->'identity'))) IS NOT FALSE THEN
        RAISE EXCEPTION 'the entry is no seal of run %', of_run;
    END IF;
    IF body->>'status' = 'pass' AND NOT holds_fully(of_run) THEN
        RAISE EXCEPTION 'run % was taken over, and is not sealed as passed', of_run;
    END IF;
END $$;

-- A request is used by a run that was submitted with its contract, for its task and stage, while an approval is in force.
CREATE FUNCTION cto.check_used(of_run TEXT, of_request TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    wanted requests;
    submitted TEXT;
    planned TEXT;
    now TEXT := queue_clock(0);
BEGIN
    SELECT q.* INTO wanted FROM requests q JOIN runs r ON r.task_id = q.task_id AND r.stage = q.stage
        JOIN queue t ON t.run_id = r.run_id AND t.state = 'started'
        WHERE r.run_id = of_run AND r.sealed_seq IS NULL AND q.request = of_request;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'run % is not one that the request is for', of_run;
    END IF;
    IF wanted.grants = 0 OR wanted.held_seq IS NOT NULL OR wanted.denied_seq IS NOT NULL OR wanted.revoked_seq IS NOT NULL
        OR wanted.used_seq IS NOT NULL OR wanted.seq < read_time_base() THEN
        RAISE EXCEPTION 'request % is not to be used', of_request;
    END IF;
    SELECT as_json(e.body)->>'contract_sha256' INTO submitted FROM queue t JOIN entries e ON e.seq = t.seq WHERE t.run_id = of_run;
    SELECT read_document(body)#>>'{plan,contract_digest}' INTO planned FROM entries WHERE seq = wanted.seq;
    IF submitted IS NULL OR submitted IS DISTINCT FROM planned THEN
        RAISE EXCEPTION 'request % has another contract than run %', of_request, of_run;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM (SELECT read_document(body) AS approval FROM entries
            WHERE request = of_request AND kind = 'approval.granted') AS granted
        WHERE is_stamp(approval->>'not_before') AND is_stamp(approval->>'expires_at')
        AND approval->>'not_before' COLLATE "C" <= now AND approval->>'expires_at' COLLATE "C" > now) THEN
        RAISE EXCEPTION 'no approval of request % is in force', of_request;
    END IF;
END $$;

-- An entry about the bundle that the ledger has of a sealed run.
CREATE FUNCTION cto.check_about_bundle(of_run TEXT, body JSON) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF NOT has_text(body, 'attestation_sha256', '^[0-9a-f]{64}$')
        OR NOT EXISTS (SELECT 1 FROM runs WHERE run_id = of_run AND attestation_sha256 = body->>'attestation_sha256') THEN
        RAISE EXCEPTION 'run % has no such bundle', of_run;
    END IF;
END $$;

CREATE FUNCTION cto.check_account(of_kind TEXT, of_time TEXT, body JSON) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF NOT (has_text(body, 'day', '^[0-9]{4}-[0-9]{2}-[0-9]{2}$') AND has_text(body, 'pair', '^[!-~]+$')
        AND is_count(body->'requests') AND is_count(body->'tokens') AND is_count(body->'money_micros')) THEN
        RAISE EXCEPTION 'the entry is no account of a model';
    END IF;
    -- Limits are counted from the beginning of a day: what is dated back would be counted by nobody.
    IF of_kind = 'model.reserved' AND (of_time COLLATE "C" < queue_clock(-600) OR body->>'day' <> left(of_time, 10)) THEN
        RAISE EXCEPTION 'the account is dated back';
    END IF;
END $$;

-- Bounds what a role may say in a day about a run that need not be its own.
CREATE FUNCTION cto.count_remark(of_run TEXT, of_kind TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    so_far INTEGER;
BEGIN
    IF NOT is_run_id(of_run) OR NOT EXISTS (SELECT 1 FROM runs WHERE run_id = of_run UNION ALL SELECT 1 FROM queue WHERE run_id = of_run) THEN
        RAISE EXCEPTION 'run % is not in the ledger', of_run;
    END IF;
    INSERT INTO remarks AS r VALUES (of_run, session_user, of_kind, left(queue_clock(0), 10), 1)
        ON CONFLICT (run_id, role, kind, day) DO UPDATE SET times = r.times + 1 RETURNING times INTO so_far;
    IF so_far > 16 THEN
        RAISE EXCEPTION 'role % has said enough of run % today', session_user, of_run;
    END IF;
END $$;

-- The shape of an entry that a worker's role may append, whose run is known to be its own.
CREATE FUNCTION cto.check_worker_body(of_time TEXT, of_kind TEXT, of_run TEXT, body JSON) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    CASE of_kind
    WHEN 'run.started' THEN PERFORM check_started(of_run, body);
    WHEN 'engine.starting', 'evidence.sealed' THEN
        IF NOT EXISTS (SELECT 1 FROM runs WHERE run_id = of_run AND sealed_seq IS NULL) THEN
            RAISE EXCEPTION 'run % is not open', of_run;
        END IF;
        IF of_kind = 'evidence.sealed' THEN
            PERFORM check_sealed(of_run, body);
        END IF;
    WHEN 'approval.used' THEN PERFORM check_used(of_run, body->>'request');
    WHEN 'change.landed' THEN
        PERFORM check_about_bundle(of_run, body);
        IF EXISTS (SELECT 1 FROM entries WHERE run_id = of_run AND kind = 'change.landed') THEN
            RAISE EXCEPTION 'run % has landed', of_run;
        END IF;
    WHEN 'evidence.collected' THEN
        PERFORM check_about_bundle(of_run, body);
        IF NOT has_text(body, 'reason', '') OR lacks(body, 'bytes') OR NOT is_count(body->'bytes') THEN
            RAISE EXCEPTION 'the entry is no collection of run %', of_run;
        END IF;
    WHEN 'queue.cancelled' THEN
        IF NOT is_count(body->'epoch') THEN
            RAISE EXCEPTION 'a worker cancels under the epoch of its claim';
        END IF;
    WHEN 'model.reserved', 'model.settled' THEN PERFORM check_account(of_kind, of_time, body);
    ELSE NULL;
    END CASE;
END $$;

-- Refuses an entry that a worker may not append.
CREATE OR REPLACE FUNCTION cto.check_worker_entry(of_time TEXT, of_kind TEXT, of_run TEXT, of_body TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    body JSON;
    of_whom TEXT := of_run;
BEGIN
    IF of_time COLLATE "C" > queue_clock(30) THEN
        RAISE EXCEPTION 'the entry is dated ahead of the server';
    END IF;
    IF octet_length(of_body) > (CASE of_kind WHEN 'run.started' THEN 4194304 WHEN 'engine.starting' THEN 1048576 ELSE 65536 END) THEN
        RAISE EXCEPTION 'the body of the entry is too large';
    END IF;
    body := as_json(of_body);
    IF json_typeof(body) <> 'object' OR canonical(body) IS DISTINCT FROM replace(of_body, '\u0000', U&'\FFFD') THEN
        RAISE EXCEPTION 'the body of the entry is not in its canonical form';
    END IF;
    IF of_run IS NOT NULL AND of_kind IN ('queue.cancelled', 'model.reserved', 'model.settled', 'run.late_refused') THEN
        RAISE EXCEPTION 'entries of kind % name their run in the body', of_kind;
    END IF;
    CASE of_kind
    WHEN 'run.started' THEN
        IF NOT EXISTS (SELECT 1 FROM queue WHERE run_id = of_run) THEN
            INSERT INTO holders VALUES (of_run, session_user, FALSE) ON CONFLICT DO NOTHING;
        END IF;
    WHEN 'engine.starting', 'approval.used', 'change.landed', 'evidence.sealed', 'evidence.collected' THEN
        NULL;
    WHEN 'queue.cancelled' THEN
        IF body->>'epoch' IS NULL THEN
            RAISE EXCEPTION 'a worker cancels under the epoch of its claim';
        END IF;
        of_whom := body->>'run_id';
    WHEN 'model.reserved', 'model.settled' THEN
        of_whom := body->>'run';
    WHEN 'run.late_refused' THEN
        IF lacks(body, 'epoch') OR NOT is_count(body->'epoch') OR octet_length(of_body) > 4096 THEN
            RAISE EXCEPTION 'the entry is no late step';
        END IF;
        PERFORM count_remark(body->>'run_id', of_kind);
        RETURN;
    WHEN 'evidence.reverified' THEN
        PERFORM check_about_bundle(of_run, body);
        PERFORM count_remark(of_run, of_kind);
        RETURN;
    ELSE
        RAISE EXCEPTION 'entries of kind % are not a worker''s', of_kind;
    END CASE;
    IF of_whom IS NULL OR NOT holds(of_whom) THEN
        RAISE EXCEPTION 'run % is not of role %', of_whom, session_user;
    END IF;
    IF of_kind IN ('engine.starting', 'approval.used', 'change.landed') AND NOT holds_fully(of_whom) THEN
        RAISE EXCEPTION 'run % was taken over, and is only sealed', of_whom;
    END IF;
    PERFORM check_worker_body(of_time, of_kind, of_run, body);
END $$;

-- As before. The owner of a lease is one that the program can read, and whoever takes a run over from another role is noted as that.
CREATE OR REPLACE FUNCTION cto.put_lease(of_run TEXT, of_owner TEXT, of_epoch BIGINT, until TEXT) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    held leases;
BEGIN
    PERFORM check_lease_end(of_run, until);
    SELECT * INTO held FROM leases WHERE run_id = of_run FOR UPDATE;
    IF of_epoch IS DISTINCT FROM coalesce(held.epoch + 1, (SELECT epoch FROM queue WHERE run_id = of_run), 1) THEN
        RAISE EXCEPTION 'the lease of run % has another epoch', of_run;
    END IF;
    IF held.lease_until > queue_clock(0) THEN
        RAISE EXCEPTION 'the lease of run % has not lapsed', of_run;
    END IF;
    IF is_worker() AND (NOT EXISTS (SELECT 1 FROM runs WHERE run_id = of_run AND sealed_seq IS NULL)
        OR (held.run_id IS NULL AND NOT holds(of_run))) THEN
        RAISE EXCEPTION 'run % is not of role %', of_run, session_user;
    END IF;
    IF is_worker() AND NOT is_digest(of_owner) THEN
        RAISE EXCEPTION 'the lease of run % names no owner', of_run;
    END IF;
    INSERT INTO leases VALUES (of_run, of_owner, of_epoch, until)
    ON CONFLICT (run_id) DO UPDATE SET owner = of_owner, epoch = of_epoch, lease_until = until;
    INSERT INTO holders AS h VALUES (of_run, session_user, held.run_id IS NOT NULL)
    ON CONFLICT (run_id) DO UPDATE SET role = session_user, taken = h.taken OR h.role <> session_user::TEXT;
END $$;

-- As before: a claim begins anew, and names an owner that the program can read.
CREATE OR REPLACE FUNCTION cto.queue_claim(asked JSONB) RETURNS SETOF cto.queue
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
DECLARE
    claimed queue;
BEGIN
    PERFORM check_lease_end('?', queue_clock((asked->>'lease_seconds')::DOUBLE PRECISION));
    IF is_worker() AND NOT is_digest(asked->>'owner') THEN
        RAISE EXCEPTION 'the claim names no owner';
    END IF;
    FOR claimed IN SELECT * FROM queue_next(asked) LOOP
        INSERT INTO holders VALUES (claimed.run_id, session_user, FALSE)
        ON CONFLICT (run_id) DO UPDATE SET role = session_user, taken = FALSE;
        RETURN NEXT claimed;
    END LOOP;
END $$;

-- A run of the queue that the caller's role has now is for this request.
CREATE FUNCTION cto.needs_request(wanted TEXT) RETURNS BOOLEAN
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM requests q JOIN queue t ON t.task_id = q.task_id AND t.stage = q.stage
        JOIN holders h ON h.run_id = t.run_id
        WHERE q.request = wanted AND t.state IN ('claimed', 'started') AND h.role = session_user::TEXT AND NOT h.taken)
$$;

-- Entries, as before. A request holds its contract, which a worker reads while it has a run that is to use it.
CREATE OR REPLACE FUNCTION cto.find_entries(asked JSONB) RETURNS SETOF cto.entries
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF NOT is_worker() THEN
        RETURN QUERY SELECT * FROM all_entries(asked);
        RETURN;
    END IF;
    RETURN QUERY SELECT e.seq, e.time, e.kind, e.run_id,
        (CASE WHEN e.kind = 'run.started' AND NOT holds(e.run_id)
            OR e.kind = 'queue.submitted' AND NOT holds(as_json(e.body)->>'run_id')
            OR e.kind = 'approval.requested' AND NOT needs_request(e.request) THEN '{}' ELSE e.body END)::cto.word,
        e.prev, e.hash, e.request FROM all_entries(asked) e;
END $$;

-- The object store that the witnesses of this ledger lie in: the first that an operator's home names, and from then on no other but one
-- that an operator names anew. A worker reads it. A name from before endpoints were part of it gets its endpoint from an operator's home.
CREATE OR REPLACE FUNCTION cto.bind_evidence(place TEXT, anew BOOLEAN) RETURNS TEXT
LANGUAGE plpgsql SECURITY DEFINER SET search_path = cto, pg_temp AS $$
BEGIN
    IF anew AND is_worker() THEN
        RAISE EXCEPTION 'a worker does not say where witnesses lie';
    END IF;
    IF place <> '' AND NOT is_worker() THEN
        INSERT INTO meta VALUES ('evidence_store', place) ON CONFLICT (key) DO UPDATE SET value = place
            WHERE anew OR starts_with(place, meta.value || ' at ');
    ELSIF anew THEN
        UPDATE meta SET value = place WHERE key = 'evidence_store';
    END IF;
    RETURN coalesce((SELECT value FROM meta WHERE key = 'evidence_store'), '');
END $$;
