/** Why an expression does not compile, with what to do instead of what Kubernetes has and this server has not. */
export function whyNotCompiled({ message }: Error): string {
  if (!message.includes("'authorizer'")) return message;
  return `${message}: "authorizer" is not supported by this server, ask for rights with roles, and compare request.userInfo`;
}
