import { defineConsumer } from 'onceward'
import { captureContract } from './capture.ts'

export default defineConsumer(captureContract(process.env.GATEWAY_URL ?? 'http://127.0.0.1:9/'))
