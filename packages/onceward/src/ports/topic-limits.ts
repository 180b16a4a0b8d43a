/** The size limits of topics on the Kafka cluster that this process is connected to, as last reported. */
export interface TopicLimits {
  /** `max.message.bytes`; null when unknown. */
  bytesMax(topic: string): number | null
  /**
   * A message did not fit, here or at the broker, so the limit may have changed. Asks again in the
   * background, never throws.
   */
  doubt(): void
}
