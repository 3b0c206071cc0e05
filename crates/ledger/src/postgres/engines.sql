-- The first name of an engine behind another one: all names cost one look-up each, however many runs there are.
CREATE FUNCTION cto.next_engine(behind TEXT) RETURNS TEXT
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = cto, pg_temp AS $$
    SELECT engine::TEXT FROM runs WHERE engine > behind ORDER BY engine LIMIT 1
$$;
