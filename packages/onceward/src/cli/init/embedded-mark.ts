/**
 * The file by which `onceward run` and `relay` know that a folder may use an embedded server; `onceward init`
 * writes it. Git and Docker ignore its folder: a deployment without an address must not acknowledge messages
 * into a temporary database.
 */
export const embeddedMark = '.onceward/embedded'

export const embeddedMarkText = `Written by "onceward init". While this file is here, "onceward run" and "onceward relay" without
ONCEWARD_DATABASE_URL start a PostgreSQL server of this folder, with its data in .onceward/postgres. Do not deploy it.
`
