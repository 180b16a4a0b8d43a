/**
 * The server is a separate process: it survives a crash of this one, and the next start on the same folder
 * reuses it. `stop()` ends it in either case.
 */
export type EmbeddedPostgres = {
    url: string;
    port: number;
    pid: number;
    dataDir: string;
    reused: boolean;
    stop(): Promise<void>;
};

/** Where the embedded server keeps its data. */
export type EmbeddedPostgresOptions = {
    dataDir: string;
    port?: number;
    settings?: Record<string, string | number>;
    log?: (line: string) => void;
    startTimeoutMs?: number;
};

/** The server that runs on a data folder, or null. Starts and creates nothing. */
export declare function findEmbeddedPostgres(dataDir: string): Promise<{
    url: string;
    port: number;
} | null>;

/** Starts PostgreSQL on the folder, or finds the server that already runs there. */
export declare function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres>;
