/** What to do about an apply that others' fields refuse. */
export const conflictAdvice = [
  'Other managers own the fields above with other values. Either',
  '- take them over: apply again with --force-conflicts, or',
  '- leave them to the others: remove the fields from the manifest, or',
  '- own them together: give them the value that they have; they are yours when the others give them up.',
].join('\n');
