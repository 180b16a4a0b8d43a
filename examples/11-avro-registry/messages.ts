/** What the consumer reads. Meters of the first version sent no unit: it was always kWh. */
export const readingSchema = {
  type: 'record',
  name: 'Reading',
  namespace: 'energy',
  fields: [
    { name: 'id', type: 'string' },
    { name: 'meter', type: 'string' },
    { name: 'value', type: 'double' },
    { name: 'unit', type: 'string', default: 'kWh' },
  ],
}

/** The first version, as old meters still send it. */
export const firstReadingSchema = { ...readingSchema, fields: readingSchema.fields.slice(0, 3) }

export interface Reading {
  readonly id: string
  readonly meter: string
  readonly value: number
  readonly unit: string
}

export const alarmSchema = {
  type: 'record',
  name: 'Alarm',
  namespace: 'energy',
  fields: [
    { name: 'meter', type: 'string' },
    { name: 'value', type: 'double' },
  ],
}
