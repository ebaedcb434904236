export const pidsHelp =
  'how many processes and threads each container may have; 0 for no limit (default: 4096, or what the machine allows)';

/** The kernel's own bound of a pids cgroup. */
const most = 4_194_304;

/** What is wrong with the value of `--max-container-pids`. */
export function pidsError(text: string): string | undefined {
  return /^\d{1,7}$/.test(text) && Number(text) <= most ? undefined : `must be a whole number from 0 to ${most}`;
}
