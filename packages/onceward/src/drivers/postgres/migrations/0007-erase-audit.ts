/** The audit of a deletion has the name of its command: `parked erase`, not `parked delete`. */
export const eraseAudit = `
-- The definition includes security definer and the search path; a replaced function keeps its owner and
-- rights.
do $$
declare
  was text := pg_get_functiondef('onceward.delete_parked'::regproc);
  now text := replace(was, '''parked delete''', '''parked erase''');
begin
  if now = was then raise exception 'onceward.delete_parked has another definition'; end if;
  execute now;
end $$;
`
