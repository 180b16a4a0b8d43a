/** What a replay without a campaign held is found by a live delivery, like what a campaign held. */
export const heldMode = `
-- What "run --mode replay" held has a mode and no campaign. A live delivery looks it up, too.
drop index onceward.held_of_campaign;
create index held_not_live on onceward.held (consumer_id, message_id) where mode <> 'live';

-- A selection whose rows have become live since it was shown is another one: their external effects would happen.
create or replace function onceward.selection_digest(ids bigint[]) returns bytea language sql stable
return (
  select sha256(convert_to(coalesce(string_agg(concat_ws(' ', h.id, h.state, encode(h.digest, 'hex'), (
    select max(l.id) from onceward.lineage l where l.held_id = h.id), coalesce('campaign ' || h.campaign_id, nullif(h.mode, 'live'))),
    ',' order by h.id), ''), 'UTF8'))
  from onceward.held h where h.id = any (ids) and h.state in ('parked', 'dead', 'quarantined'));
`
