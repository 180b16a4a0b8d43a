import type { StagedSeries } from './staged-series.ts'

const orders = { consumer: 'orders' }

/** What the consumers of the live test show without any fault of a server. */
export const healthySeen: readonly StagedSeries[] = [
  ['messaging_client_consumed_messages_total', orders],
  ['onceward_consumer_outcomes_total', { ...orders, outcome: 'applied' }],
  ['onceward_consumer_applied_messages_total', orders],
  ['onceward_consumer_conflicts_total', orders],
  ['onceward_inbox_inserted_markers_total', orders],
  ['onceward_consumer_failed_attempts_total', orders],
  ['onceward_consumer_retries_total', orders],
  ['onceward_consumer_set_aside_messages_total', orders],
  ['onceward_consumer_exhausted_messages_total', orders],
  ['onceward_consumer_unreadable_messages_total', orders],
  ['onceward_consumer_poison_messages_total', orders],
  ['onceward_consumer_attention_messages', orders],
  ['onceward_consumer_attention_oldest_age_seconds', orders],
  ['onceward_consumer_gauges_age_seconds', orders],
  ['onceward_consumer_up', orders],
  ['onceward_consumer_info', orders],
  ['onceward_work_leases_total', orders],
  ['onceward_work_messages', orders],
  ['onceward_external_calls_total', orders],
  ['onceward_external_open_effects', orders],
  ['onceward_external_oldest_age_seconds', orders],
  ['messaging_client_sent_messages_total', { broker: 'postgres' }],
]
