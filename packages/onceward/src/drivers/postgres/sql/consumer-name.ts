/**
 * The name of the consumer whose transaction runs this statement, for facts. Fails outside a batch's
 * transaction.
 */
export const consumerName = `(select c.name from onceward.run r join onceward.consumer c on c.id = r.consumer_id
    where r.id = current_setting('onceward.run')::integer)`
