import { describe } from 'node:test'
import { testShortForm } from './short-form.ts'

describe('npm run chaos, the short form on logs', () => {
  testShortForm('stream')
  testShortForm('kafka')
})
