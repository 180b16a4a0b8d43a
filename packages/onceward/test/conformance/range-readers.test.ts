import { after } from 'node:test'
import { rangeReaderConformance } from 'onceward/testing'
import { archiveRanges } from './archive-ranges.ts'
import { fileRanges } from './file.ts'
import { heldRanges } from './held-ranges.ts'
import { kafkaRanges } from './kafka.ts'
import { openDatabase } from './postgres.ts'
import { streamRanges } from './rabbitmq-stream.ts'

const database = await openDatabase()
after(() => database.close())

rangeReaderConformance('the reader of files', fileRanges)
rangeReaderConformance('the reader of archives', archiveRanges)
rangeReaderConformance('the reader of held rows', heldRanges(database))
rangeReaderConformance('the reader of a Kafka topic', await kafkaRanges())
rangeReaderConformance('the reader of a RabbitMQ super stream', await streamRanges())
