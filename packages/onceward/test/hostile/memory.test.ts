import { memoryStore } from '../conformance/memory.ts'
import { hostileInputsOn } from './hostile.ts'

hostileInputsOn('the memory store', memoryStore)
