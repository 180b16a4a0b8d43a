import { deliveryConformance, sourceConformance, storeConformance } from 'onceward/testing'
import { memoryLog, memorySource, memoryStore } from './memory.ts'

sourceConformance('the memory queue', memorySource)
sourceConformance('the memory log', memoryLog)
storeConformance('the memory store', memoryStore)
deliveryConformance('memory queue × memory store', { source: memorySource, store: memoryStore })
deliveryConformance('memory log × memory store', { source: memoryLog, store: memoryStore })
