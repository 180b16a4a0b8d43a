/**
 * The effects that held work of a campaign may request now. A cancelled campaign may request none; a campaign
 * whose approval has expired may request none until it is approved again. Null for rows that no campaign
 * held.
 */
export const effectsOf = (campaignId: string) => `case when ${campaignId} is not null then coalesce((
    select case when c.state = 'cancelled' or c.effects <> 'requested' then 'suppressed'
      when c.needs_approval and not exists (select from onceward.campaign_approval a
        where a.campaign_id = c.id and a.plan_digest = c.plan_digest and a.expires_at > clock_timestamp()) then 'unapproved'
      else c.effects end from onceward.campaign c where c.id = ${campaignId}), 'suppressed') end`
