export type { BrokerTls } from '../tls/broker-tls.ts'
export { createStreamSource, type StreamSourceOptions } from './source.ts'
export { type StreamDeclaration, type StreamOptions, type StreamStart, stream } from './stream.ts'
