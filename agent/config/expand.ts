/**
 * Kubernetes' $(NAME): replaced by the variable's value; "$$" is a "$" that starts nothing; a name that is not known stays as it is.
 */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\$(\$|\(([^()]*)\))/g, (whole, inner: string, name: string | undefined) => {
    if (inner === '$') return '$';
    return variables.get(name ?? '') ?? whole;
  });
}
