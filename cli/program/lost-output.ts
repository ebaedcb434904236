let onOutputError: ((error: NodeJS.ErrnoException) => void) | undefined;

/**
 * Ends the process when the output cannot be written. Replaces what an earlier run in the same process listens with.
 */
export function failOnLostOutput(exitCode: () => number): void {
  if (onOutputError !== undefined) process.stdout.off('error', onOutputError);
  onOutputError = (error) => {
    // A reader that goes away (`berth get pods | head`) is no failure.
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`error: cannot write the output: ${error.code === 'ENOSPC' ? 'the disk is full' : error.message}\n`);
    process.exit(exitCode());
  };
  process.stdout.on('error', onOutputError);
}
