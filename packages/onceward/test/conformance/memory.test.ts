import { deliveryConformance, sourceConformance, storeConformance } from 'onceward/testing'
import { memorySource, memoryStore } from './memory.ts'

sourceConformance('the memory queue', memorySource)
storeConformance('the memory store', memoryStore)
deliveryConformance('memory queue × memory store', { source: memorySource, store: memoryStore })
