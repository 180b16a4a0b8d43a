import { after } from 'node:test'
import { deliveryConformance, sourceConformance } from 'onceward/testing'
import { openDatabase, postgresStore } from './postgres.ts'
import { rabbitSource } from './rabbitmq.ts'

const database = await openDatabase()
after(() => database.close())
const source = await rabbitSource()

sourceConformance('a RabbitMQ queue', source)
deliveryConformance('RabbitMQ queue × PostgreSQL store', { source, store: postgresStore(database) })
