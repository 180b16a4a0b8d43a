export type { KafkaSasl, KafkaTls } from './client/connection-options.ts'
export { createKafkaSource, type KafkaSourceOptions } from './source.ts'
export { type TopicDeclaration, type TopicOptions, type TopicStart, topic } from './topic.ts'
