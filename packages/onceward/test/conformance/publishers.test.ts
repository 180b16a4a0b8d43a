import { after } from 'node:test'
import { publisherConformance } from 'onceward/testing'
import { kafkaPublisher } from './kafka.ts'
import { openDatabase } from './postgres.ts'
import { postgresPublisher } from './postgres-publisher.ts'
import { rabbitPublisher } from './rabbitmq.ts'

const database = await openDatabase()
after(() => database.close())

publisherConformance('the publisher of RabbitMQ', await rabbitPublisher())
publisherConformance('the publisher of Kafka', await kafkaPublisher())
publisherConformance('the publisher of PostgreSQL queues', postgresPublisher(database))
