/** A file or folder as a source. */
export interface FileDeclaration extends SourceDeclaration, FileOptions {
    readonly kind: 'file';
    readonly pattern: string;
}

/** Options of `file(...)`. */
export interface FileOptions {
    readonly until?: 'forever' | 'end';
    readonly lineBytesMax?: number;
    readonly rotationMs?: number;
    readonly pollMaxMs?: number;
    readonly standbyMs?: number;
}

/** How a source reads files. */
export interface FileSourceOptions {
    readonly env: PullEnvironment;
}

/** Reads what `file(...)` declares. */
export declare function createFileSource(declaration: FileDeclaration, { env }: FileSourceOptions): Source;

/**
 * Files of JSON lines: one path, or a folder and a name with `*` and `?` (`events/*.jsonl`). Each file is a
 * partition, a line is a record, and its position is the byte it begins at. Rotate to names the pattern does
 * not match, next to the file and beginning with its name (`app.jsonl.1`).
 */
export declare function file(pattern: string, options?: FileOptions): FileDeclaration;
