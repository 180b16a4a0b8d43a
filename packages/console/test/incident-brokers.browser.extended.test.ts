import { skipWithoutBrowser } from './bench/browser.ts'
import { incidentStory } from './bench/incident-story.ts'
import { kafkaInvoices, rabbitmqInvoices } from './bench/invoice-sources.ts'

incidentStory('RabbitMQ', await skipWithoutBrowser('postgres', 'rabbitmq'), rabbitmqInvoices)
incidentStory('Kafka', await skipWithoutBrowser('postgres', 'kafka'), kafkaInvoices)
