/**
 * The consumer whose transaction this is: facts carry its name. Outside of a batch's transaction it fails.
 */
export const consumerName = `(select c.name from onceward.run r join onceward.consumer c on c.id = r.consumer_id
    where r.id = current_setting('onceward.run')::integer)`
