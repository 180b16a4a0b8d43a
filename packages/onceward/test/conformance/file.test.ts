import { after } from 'node:test'
import { deliveryConformance, sourceConformance } from 'onceward/testing'
import { fileSource } from './file.ts'
import { openDatabase, postgresStore } from './postgres.ts'

const database = await openDatabase()
after(() => database.close())

sourceConformance('files of lines', fileSource)
deliveryConformance('files of lines × PostgreSQL store', {
  source: fileSource,
  store: postgresStore(database),
})
