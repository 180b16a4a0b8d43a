/** SQL that reads the ids of a rebuild's two generations. $1 is the campaign. */
export const live = `(select o.id from onceward.consumer o join onceward.campaign c on o.name = c.consumer_name
  and o.generation = c.live_generation where c.id = $1)`
export const shadow = `(select o.id from onceward.consumer o join onceward.campaign c on o.name = c.consumer_name
  and o.generation = c.generation where c.id = $1)`

export const unfinished = `('stored', 'waiting', 'parked')`
export const markerIs = (consumer: string, messageId: string, statuses: string) =>
  `exists (select from onceward.inbox m where m.consumer_id = ${consumer} and m.message_id = ${messageId} and m.status in ${statuses})`
