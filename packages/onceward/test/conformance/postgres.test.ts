import { after } from 'node:test'
import { deliveryConformance, sourceConformance, storeConformance } from 'onceward/testing'
import { memoryLog, memorySource } from './memory.ts'
import { openDatabase, postgresSource, postgresStore } from './postgres.ts'

const database = await openDatabase()
after(() => database.close())
const [source, store] = [postgresSource(database), postgresStore(database)]

sourceConformance('a PostgreSQL queue', source)
storeConformance('the PostgreSQL store', store)
deliveryConformance('PostgreSQL queue × PostgreSQL store', { source, store })
deliveryConformance('memory queue × PostgreSQL store', { source: memorySource, store })
deliveryConformance('memory log × PostgreSQL store', { source: memoryLog, store })
