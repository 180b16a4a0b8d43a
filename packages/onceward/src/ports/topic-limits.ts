/** What the topics of the Kafka cluster that this process is connected to take, as the cluster said last. */
export interface TopicLimits {
  /** `max.message.bytes`; null where it is not known. */
  bytesMax(topic: string): number | null
  /**
   * Something did not fit, here or at the broker: the limit may be another by now. Asks again in the
   * background, never throws.
   */
  doubt(): void
}
