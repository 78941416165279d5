use crate::db::{Connection, Error};

/// One step of the schema.
pub struct Step {
    pub version: u32,
    pub sql: &'static str,
}

/// What came of a start.
#[derive(Debug, Default)]
pub struct Applied {
    pub steps: u32,
}

fn current(conn: &mut Connection) -> Result<u32, Error> {
    conn.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)", &[])?;
    conn.query_one("SELECT COALESCE(MAX(version), 0) FROM schema_version", &[])
}

/// Applies every step above the version that the database has.
pub fn migrate(conn: &mut Connection, steps: &[Step]) -> Result<Applied, Error> {
    let from = current(conn)?;
    let mut applied = Applied::default();
    for step in steps.iter().filter(|s| s.version > from) {
        conn.execute(
            "INSERT INTO schema_version (version) VALUES (?1)",
            &[&step.version],
        )?;
        for statement in step.sql.split(';') {
            if statement.trim().is_empty() {
                continue;
            }
            conn.execute(statement, &[])?;
        }
        applied.steps += 1;
    }
    Ok(applied)
}
