import { after } from 'node:test'
import { deliveryConformance, sourceConformance } from 'onceward/testing'
import { openDatabase, postgresStore } from './postgres.ts'
import { rabbitStreamSource } from './rabbitmq-stream.ts'

const database = await openDatabase()
after(() => database.close())
const source = await rabbitStreamSource()

sourceConformance('a RabbitMQ super stream', source)
deliveryConformance('a RabbitMQ super stream on PostgreSQL', { source, store: postgresStore(database) })
